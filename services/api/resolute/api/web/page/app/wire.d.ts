// Written by `python -m resolute.api.web.wire_types`: the messages of the API that the page uses.

export interface ExplainJobResponse {
  allocations: (Record<string, any>)[];
  jobId: string;
  says: string;
  schedulerType: string;
  job?: v1Job | null;
}

export interface GetLogEventsResponse {
  events: LogEvent[];
  head: string;
  more: boolean;
}

export type GetMasterResponseProduct = "PRODUCT_UNSPECIFIED" | "PRODUCT_COMMUNITY";

export interface GetWebhookDeliveriesResponse {
  deliveries: WebhookDelivery[];
  pagination?: v1Pagination | null;
}

export interface LogEvent {
  actor: string;
  causedBy: string;
  correlationId: string;
  data: Record<string, any> | null;
  position: string;
  prevHash: string;
  recordedAt: string;
  schemaVersion: number;
  step: number;
  stream: string;
  type: string;
  version: number;
  traceparent?: string | null;
}

export type TrialProfilerMetricLabelsProfilerMetricType = "PROFILER_METRIC_TYPE_UNSPECIFIED" | "PROFILER_METRIC_TYPE_SYSTEM" | "PROFILER_METRIC_TYPE_TIMING" | "PROFILER_METRIC_TYPE_MISC";

export interface WebhookDelivery {
  attempts: number;
  eventId: string;
  happenedAt: string;
  reason: string;
  state: WebhookDeliveryState;
  triggerId: number;
  triggerType: v1TriggerType;
  endedAt?: string | null;
  eventData?: Record<string, any> | null;
  nextAttemptAt?: string | null;
  status?: number | null;
}

export type WebhookDeliveryState = "WEBHOOK_DELIVERY_STATE_DUE" | "WEBHOOK_DELIVERY_STATE_DELIVERED" | "WEBHOOK_DELIVERY_STATE_GIVEN_UP";

export type checkpointv1State = "STATE_UNSPECIFIED" | "STATE_ACTIVE" | "STATE_COMPLETED" | "STATE_ERROR" | "STATE_DELETED" | "STATE_PARTIALLY_DELETED";

export type containerv1State = "STATE_UNSPECIFIED" | "STATE_ASSIGNED" | "STATE_PULLING" | "STATE_STARTING" | "STATE_RUNNING" | "STATE_TERMINATED";

export type devicev1Type = "TYPE_UNSPECIFIED" | "TYPE_CPU" | "TYPE_CUDA" | "TYPE_ROCM";

export type experimentv1State = "STATE_UNSPECIFIED" | "STATE_ACTIVE" | "STATE_PAUSED" | "STATE_STOPPING_COMPLETED" | "STATE_STOPPING_CANCELED" | "STATE_STOPPING_ERROR" | "STATE_COMPLETED" | "STATE_CANCELED" | "STATE_ERROR" | "STATE_DELETED" | "STATE_DELETING" | "STATE_DELETE_FAILED" | "STATE_STOPPING_KILLED" | "STATE_QUEUED" | "STATE_PULLING" | "STATE_STARTING" | "STATE_RUNNING";

export type jobv1State = "STATE_UNSPECIFIED" | "STATE_QUEUED" | "STATE_SCHEDULED" | "STATE_SCHEDULED_BACKFILLED";

export type jobv1Type = "TYPE_UNSPECIFIED" | "TYPE_EXPERIMENT" | "TYPE_NOTEBOOK" | "TYPE_TENSORBOARD" | "TYPE_SHELL" | "TYPE_COMMAND" | "TYPE_CHECKPOINT_GC" | "TYPE_EXTERNAL" | "TYPE_GENERIC";

export type taskv1State = "STATE_UNSPECIFIED" | "STATE_PULLING" | "STATE_STARTING" | "STATE_RUNNING" | "STATE_TERMINATED" | "STATE_TERMINATING" | "STATE_WAITING" | "STATE_QUEUED";

export type trialv1State = "STATE_UNSPECIFIED" | "STATE_ACTIVE" | "STATE_PAUSED" | "STATE_STOPPING_CANCELED" | "STATE_STOPPING_KILLED" | "STATE_STOPPING_COMPLETED" | "STATE_STOPPING_ERROR" | "STATE_CANCELED" | "STATE_COMPLETED" | "STATE_ERROR" | "STATE_QUEUED" | "STATE_PULLING" | "STATE_STARTING" | "STATE_RUNNING";

export interface trialv1Trial {
  experimentId: number;
  hparams: Record<string, any> | null;
  id: number;
  restarts: number;
  startTime: string;
  state: trialv1State;
  totalBatchesProcessed: number;
  bestCheckpoint?: v1CheckpointWorkload | null;
  bestValidation?: v1MetricsWorkload | null;
  checkpointCount?: number | null;
  endTime?: string | null;
  latestValidation?: v1MetricsWorkload | null;
  logPolicyMatched?: string | null;
  logRetentionDays?: number | null;
  logsRemovedAt?: string | null;
  metadata?: Record<string, any> | null;
  runnerState?: string | null;
  searcherMetricValue?: number | "NaN" | "Infinity" | "-Infinity" | null;
  stateReason?: string | null;
  summaryMetrics?: Record<string, any> | null;
  taskId?: string | null;
  taskIds?: string[] | null;
  totalCheckpointSize?: string | null;
  wallClockTime?: number | "NaN" | "Infinity" | "-Infinity" | null;
  warmStartCheckpointUuid?: string | null;
}

export interface v1Agent {
  id: string;
  slotStats: v1SlotStats;
  addresses?: string[] | null;
  containers?: Record<string, v1Container> | null;
  draining?: boolean | null;
  enabled?: boolean | null;
  registeredTime?: string | null;
  release?: string | null;
  resourcePools?: string[] | null;
  slots?: Record<string, v1Slot> | null;
  version?: string | null;
}

export interface v1AgentUserGroup {
  agentGid?: number | null;
  agentGroup?: string | null;
  agentUid?: number | null;
  agentUser?: string | null;
}

export interface v1Allocation {
  allocationId: string;
  slots: number;
  state: taskv1State;
  taskId: string;
  endTime?: string | null;
  exitReason?: string | null;
  isReady?: boolean | null;
  startTime?: string | null;
  statusCode?: number | null;
}

export interface v1AwsCustomTag {
  key: string;
  value: string;
}

export interface v1Checkpoint {
  metadata: Record<string, any> | null;
  resources: Record<string, string>;
  state: checkpointv1State;
  training: v1CheckpointTrainingMetadata;
  uuid: string;
  allocationId?: string | null;
  reportTime?: string | null;
  storageId?: number | null;
  taskId?: string | null;
}

export interface v1CheckpointTrainingMetadata {
  experimentConfig?: Record<string, any> | null;
  experimentId?: number | null;
  hparams?: Record<string, any> | null;
  searcherMetric?: number | "NaN" | "Infinity" | "-Infinity" | null;
  trainingMetrics?: v1Metrics | null;
  trialId?: number | null;
  validationMetrics?: v1Metrics | null;
}

export interface v1CheckpointWorkload {
  state: checkpointv1State;
  totalBatches: number;
  endTime?: string | null;
  metadata?: Record<string, any> | null;
  resources?: Record<string, string> | null;
  uuid?: string | null;
}

export interface v1ClusterMessage {
  message: string;
  startTime: string;
  createdTime?: string | null;
  endTime?: string | null;
}

export interface v1ComparableTrial {
  metrics: v1DownsampledMetrics[];
  trial: trialv1Trial;
}

export interface v1CompareTrialsResponse {
  trials: v1ComparableTrial[];
}

export interface v1Container {
  id: string;
  state: containerv1State;
  devices?: v1Device[] | null;
  parent?: string | null;
  permissionDenied?: boolean | null;
}

export interface v1ContinueExperimentResponse {
  experiment: v1Experiment;
  configWarnings?: string[] | null;
  warnings?: v1LaunchWarning[] | null;
}

export interface v1CreateExperimentResponse {
  config: Record<string, any> | null;
  experiment: v1Experiment;
  configWarnings?: string[] | null;
  warnings?: v1LaunchWarning[] | null;
}

export interface v1DataPoint {
  batches: number;
  time: string;
  epoch?: number | "NaN" | "Infinity" | "-Infinity" | null;
  values?: Record<string, any> | null;
}

export interface v1Device {
  brand?: string | null;
  id?: number | null;
  type?: devicev1Type | null;
  uuid?: string | null;
}

export interface v1DeviceStats {
  disabled: number;
  draining: number;
  total: number;
  states?: Record<string, number> | null;
}

export interface v1DownsampledMetrics {
  data: v1DataPoint[];
  group: string;
  type: v1MetricType;
}

export interface v1ExpMetricNamesResponse {
  metricNames?: v1MetricIdentifier[] | null;
  searcherMetrics?: string[] | null;
  trainingMetrics?: string[] | null;
  validationMetrics?: string[] | null;
}

export interface v1Experiment {
  archived: boolean;
  config: Record<string, any> | null;
  id: number;
  jobId: string;
  name: string;
  numTrials: number;
  originalConfig: string;
  projectId: number;
  projectOwnerId: number;
  searcherType: string;
  startTime: string;
  state: experimentv1State;
  username: string;
  bestTrialId?: number | null;
  bestTrialSearcherMetric?: number | "NaN" | "Infinity" | "-Infinity" | null;
  checkpointCount?: number | null;
  checkpointSize?: string | null;
  description?: string | null;
  displayName?: string | null;
  duration?: number | null;
  endTime?: string | null;
  externalExperimentId?: string | null;
  externalTrialId?: string | null;
  forkedFrom?: number | null;
  hyperparameters?: Record<string, any> | null;
  labels?: string[] | null;
  modelDefinitionSize?: number | null;
  notes?: string | null;
  pachydermIntegration?: Record<string, any> | null;
  parentArchived?: boolean | null;
  progress?: number | "NaN" | "Infinity" | "-Infinity" | null;
  projectName?: string | null;
  resourcePool?: string | null;
  searcherMetric?: string | null;
  stateReason?: string | null;
  trialIds?: number[] | null;
  unmanaged?: boolean | null;
  userId?: number | null;
  workspaceId?: number | null;
  workspaceName?: string | null;
}

export interface v1FileNode {
  contentLength?: number | null;
  contentType?: string | null;
  files?: v1FileNode[] | null;
  isDir?: boolean | null;
  modifiedTime?: string | null;
  name?: string | null;
  path?: string | null;
}

export type v1FittingPolicy = "FITTING_POLICY_UNSPECIFIED" | "FITTING_POLICY_BEST" | "FITTING_POLICY_WORST" | "FITTING_POLICY_KUBERNETES" | "FITTING_POLICY_SLURM" | "FITTING_POLICY_PBS";

export type v1GenericTaskState = "GENERIC_TASK_STATE_UNSPECIFIED" | "GENERIC_TASK_STATE_ACTIVE" | "GENERIC_TASK_STATE_CANCELED" | "GENERIC_TASK_STATE_COMPLETED" | "GENERIC_TASK_STATE_ERROR" | "GENERIC_TASK_STATE_PAUSED" | "GENERIC_TASK_STATE_STOPPING_PAUSED" | "GENERIC_TASK_STATE_STOPPING_CANCELED" | "GENERIC_TASK_STATE_STOPPING_COMPLETED" | "GENERIC_TASK_STATE_STOPPING_ERROR";

export interface v1GetAccessTokensResponse {
  pagination: v1Pagination;
  tokenInfo: v1TokenInfo[];
}

export interface v1GetAgentsResponse {
  agents: v1Agent[];
  pagination?: v1Pagination | null;
}

export interface v1GetClusterMessageResponse {
  clusterMessage?: v1ClusterMessage | null;
}

export interface v1GetExperimentCheckpointsResponse {
  checkpoints: v1Checkpoint[];
  pagination: v1Pagination;
}

export interface v1GetExperimentResponse {
  experiment: v1Experiment;
  config?: Record<string, any> | null;
  jobSummary?: v1JobSummary | null;
}

export interface v1GetExperimentTrialsResponse {
  pagination: v1Pagination;
  trials: trialv1Trial[];
}

export interface v1GetGlobalConfigPoliciesResponse {
  configPolicies?: Record<string, any> | null;
}

export interface v1GetGroupResponse {
  group?: v1GroupDetails | null;
}

export interface v1GetGroupsAndUsersAssignedToWorkspaceResponse {
  assignments: v1RoleWithAssignments[];
  groups: v1GroupDetails[];
  usersAssignedDirectly: v1User[];
}

export interface v1GetGroupsResponse {
  groups: v1GroupSearchResult[];
  pagination?: v1Pagination | null;
}

export interface v1GetJobsV2Response {
  jobs: v1RBACJob[];
  pagination: v1Pagination;
}

export interface v1GetMasterResponse {
  clusterId: string;
  clusterName: string;
  hasCustomLogo: boolean;
  masterId: string;
  strictJobQueueControl: boolean;
  version: string;
  branding?: string | null;
  clusterMessage?: v1ClusterMessage | null;
  externalLoginUri?: string | null;
  externalLogoutUri?: string | null;
  featureSwitches?: string[] | null;
  product?: GetMasterResponseProduct | null;
  rbacEnabled?: boolean | null;
  ssoProviders?: v1SSOProvider[] | null;
  telemetryEnabled?: boolean | null;
  userManagementEnabled?: boolean | null;
}

export interface v1GetMeResponse {
  user: v1User;
}

export interface v1GetModelDefTreeResponse {
  files?: v1FileNode[] | null;
}

export interface v1GetModelResponse {
  model?: v1Model | null;
}

export interface v1GetModelVersionResponse {
  modelVersion?: v1ModelVersion | null;
}

export interface v1GetModelVersionsResponse {
  modelVersions: v1ModelVersion[];
  model?: v1Model | null;
  pagination?: v1Pagination | null;
}

export interface v1GetModelsResponse {
  models: v1Model[];
  pagination?: v1Pagination | null;
}

export interface v1GetPermissionsSummaryResponse {
  assignments: v1RoleAssignmentSummary[];
  roles: v1Role[];
}

export interface v1GetProjectResponse {
  project: v1Project;
}

export interface v1GetProjectsByUserActivityResponse {
  projects?: v1Project[] | null;
}

export interface v1GetResourcePoolsResponse {
  pagination?: v1Pagination | null;
  resourcePools?: v1ResourcePool[] | null;
}

export interface v1GetRolesAssignedToGroupResponse {
  assignments: v1RoleAssignmentSummary[];
  roles: v1Role[];
}

export interface v1GetRolesAssignedToUserResponse {
  roles: v1RoleWithAssignments[];
}

export interface v1GetTaskResponse {
  task: v1Task;
}

export interface v1GetTemplatesResponse {
  pagination: v1Pagination;
  templates: v1Template[];
}

export interface v1GetTrialCheckpointsResponse {
  checkpoints: v1Checkpoint[];
  pagination: v1Pagination;
}

export interface v1GetTrialMetricsByModelVersionResponse {
  metrics: v1MetricsReport[];
}

export interface v1GetTrialProfilerMetricsResponse {
  batch: v1TrialProfilerMetricsBatch;
}

export interface v1GetTrialResponse {
  trial: trialv1Trial;
}

export interface v1GetUserSettingResponse {
  settings: v1UserWebSetting[];
}

export interface v1GetUsersResponse {
  pagination?: v1Pagination | null;
  users?: v1User[] | null;
}

export interface v1GetWebhooksResponse {
  webhooks: v1Webhook[];
}

export interface v1GetWorkspaceProjectsResponse {
  pagination: v1Pagination;
  projects: v1Project[];
}

export interface v1GetWorkspaceResponse {
  workspace: v1Workspace;
}

export interface v1GetWorkspacesResponse {
  pagination: v1Pagination;
  workspaces: v1Workspace[];
}

export interface v1Group {
  groupId: number;
  name: string;
}

export interface v1GroupDetails {
  groupId: number;
  name: string;
  users?: v1User[] | null;
}

export interface v1GroupRoleAssignment {
  groupId: number;
  roleAssignment: v1RoleAssignment;
}

export interface v1GroupSearchResult {
  numMembers: number;
  group?: v1Group | null;
}

export interface v1Job {
  allocatedSlots: number;
  entityId: string;
  isPreemptible: boolean;
  jobId: string;
  name: string;
  requestedSlots: number;
  resourcePool: string;
  submissionTime: string;
  type: jobv1Type;
  username: string;
  workspaceId: number;
  priority?: number | null;
  progress?: number | "NaN" | "Infinity" | "-Infinity" | null;
  summary?: v1JobSummary | null;
  userId?: number | null;
  weight?: number | "NaN" | "Infinity" | "-Infinity" | null;
}

export interface v1JobSummary {
  jobsAhead: number;
  state: jobv1State;
}

export interface v1K8PriorityClass {
  priorityClass?: string | null;
  priorityValue?: number | null;
}

export type v1LaunchWarning = "LAUNCH_WARNING_UNSPECIFIED" | "LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED";

export interface v1LimitedJob {
  allocatedSlots: number;
  isPreemptible: boolean;
  jobId: string;
  requestedSlots: number;
  resourcePool: string;
  type: jobv1Type;
  workspaceId: number;
  priority?: number | null;
  progress?: number | "NaN" | "Infinity" | "-Infinity" | null;
  summary?: v1JobSummary | null;
  weight?: number | "NaN" | "Infinity" | "-Infinity" | null;
}

export interface v1ListRolesResponse {
  pagination: v1Pagination;
  roles: v1Role[];
}

export type v1LogLevel = "LOG_LEVEL_UNSPECIFIED" | "LOG_LEVEL_TRACE" | "LOG_LEVEL_DEBUG" | "LOG_LEVEL_INFO" | "LOG_LEVEL_WARNING" | "LOG_LEVEL_ERROR" | "LOG_LEVEL_CRITICAL";

export interface v1MetricIdentifier {
  group: string;
  name: string;
}

export type v1MetricType = "METRIC_TYPE_UNSPECIFIED" | "METRIC_TYPE_TRAINING" | "METRIC_TYPE_VALIDATION" | "METRIC_TYPE_PROFILING";

export interface v1Metrics {
  avgMetrics: Record<string, any> | null;
  batchMetrics?: (Record<string, any>)[] | null;
}

export interface v1MetricsReport {
  archived: boolean;
  endTime: string;
  group: string;
  id: number;
  metrics: Record<string, any> | null;
  totalBatches: number;
  trialId: number;
  trialRunId: number;
}

export interface v1MetricsWorkload {
  metrics: v1Metrics;
  numInputs: number;
  totalBatches: number;
  endTime?: string | null;
}

export interface v1Model {
  archived: boolean;
  id: number;
  name: string;
  numVersions: number;
  userId: number;
  username: string;
  workspaceId: number;
  creationTime?: string | null;
  description?: string | null;
  labels?: string[] | null;
  lastUpdatedTime?: string | null;
  metadata?: Record<string, any> | null;
  notes?: string | null;
}

export interface v1ModelVersion {
  id: number;
  version: number;
  checkpoint?: v1Checkpoint | null;
  comment?: string | null;
  creationTime?: string | null;
  labels?: string[] | null;
  lastUpdatedTime?: string | null;
  metadata?: Record<string, any> | null;
  model?: v1Model | null;
  name?: string | null;
  notes?: string | null;
  userId?: number | null;
  username?: string | null;
}

export interface v1Note {
  contents: string;
  name: string;
}

export interface v1Pagination {
  endIndex?: number | null;
  limit?: number | null;
  offset?: number | null;
  startIndex?: number | null;
  total?: number | null;
}

export interface v1Permission {
  id: v1PermissionType;
  name?: string | null;
  scopeTypeMask?: v1ScopeTypeMask | null;
}

export type v1PermissionType = "PERMISSION_TYPE_UNSPECIFIED" | "PERMISSION_TYPE_ADMINISTRATE_USER" | "PERMISSION_TYPE_ADMINISTRATE_OAUTH" | "PERMISSION_TYPE_CREATE_EXPERIMENT" | "PERMISSION_TYPE_VIEW_EXPERIMENT_ARTIFACTS" | "PERMISSION_TYPE_VIEW_EXPERIMENT_METADATA" | "PERMISSION_TYPE_UPDATE_EXPERIMENT" | "PERMISSION_TYPE_UPDATE_EXPERIMENT_METADATA" | "PERMISSION_TYPE_DELETE_EXPERIMENT" | "PERMISSION_TYPE_CREATE_NSC" | "PERMISSION_TYPE_VIEW_NSC" | "PERMISSION_TYPE_UPDATE_NSC" | "PERMISSION_TYPE_UPDATE_GROUP" | "PERMISSION_TYPE_CREATE_WORKSPACE" | "PERMISSION_TYPE_VIEW_WORKSPACE" | "PERMISSION_TYPE_UPDATE_WORKSPACE" | "PERMISSION_TYPE_DELETE_WORKSPACE" | "PERMISSION_TYPE_SET_WORKSPACE_AGENT_USER_GROUP" | "PERMISSION_TYPE_SET_WORKSPACE_CHECKPOINT_STORAGE_CONFIG" | "PERMISSION_TYPE_SET_WORKSPACE_DEFAULT_RESOURCE_POOL" | "PERMISSION_TYPE_CREATE_PROJECT" | "PERMISSION_TYPE_VIEW_PROJECT" | "PERMISSION_TYPE_UPDATE_PROJECT" | "PERMISSION_TYPE_DELETE_PROJECT" | "PERMISSION_TYPE_ASSIGN_ROLES" | "PERMISSION_TYPE_VIEW_MODEL_REGISTRY" | "PERMISSION_TYPE_EDIT_MODEL_REGISTRY" | "PERMISSION_TYPE_CREATE_MODEL_REGISTRY" | "PERMISSION_TYPE_DELETE_MODEL_REGISTRY" | "PERMISSION_TYPE_DELETE_MODEL_VERSION" | "PERMISSION_TYPE_DELETE_OTHER_USER_MODEL_REGISTRY" | "PERMISSION_TYPE_DELETE_OTHER_USER_MODEL_VERSION" | "PERMISSION_TYPE_VIEW_MASTER_LOGS" | "PERMISSION_TYPE_VIEW_CLUSTER_USAGE" | "PERMISSION_TYPE_UPDATE_AGENTS" | "PERMISSION_TYPE_VIEW_SENSITIVE_AGENT_INFO" | "PERMISSION_TYPE_VIEW_MASTER_CONFIG" | "PERMISSION_TYPE_UPDATE_MASTER_CONFIG" | "PERMISSION_TYPE_VIEW_EXTERNAL_JOBS" | "PERMISSION_TYPE_CONTROL_STRICT_JOB_QUEUE" | "PERMISSION_TYPE_VIEW_TEMPLATES" | "PERMISSION_TYPE_UPDATE_TEMPLATES" | "PERMISSION_TYPE_CREATE_TEMPLATES" | "PERMISSION_TYPE_DELETE_TEMPLATES" | "PERMISSION_TYPE_UPDATE_ROLES" | "PERMISSION_TYPE_EDIT_WEBHOOKS" | "PERMISSION_TYPE_VIEW_WEBHOOKS" | "PERMISSION_TYPE_MODIFY_RP_WORKSPACE_BINDINGS" | "PERMISSION_TYPE_SET_WORKSPACE_NAMESPACE_BINDINGS" | "PERMISSION_TYPE_SET_RESOURCE_QUOTAS" | "PERMISSION_TYPE_VIEW_RESOURCE_QUOTAS" | "PERMISSION_TYPE_MODIFY_GLOBAL_CONFIG_POLICIES" | "PERMISSION_TYPE_MODIFY_WORKSPACE_CONFIG_POLICIES" | "PERMISSION_TYPE_VIEW_GLOBAL_CONFIG_POLICIES" | "PERMISSION_TYPE_VIEW_WORKSPACE_CONFIG_POLICIES" | "PERMISSION_TYPE_ADMINISTRATE_TOKEN" | "PERMISSION_TYPE_UPDATE_TOKEN" | "PERMISSION_TYPE_CREATE_TOKEN" | "PERMISSION_TYPE_CREATE_OTHER_TOKEN" | "PERMISSION_TYPE_VIEW_OTHER_TOKEN" | "PERMISSION_TYPE_VIEW_TOKEN";

export interface v1PostAccessTokenResponse {
  token: string;
  tokenId: number;
}

export interface v1Project {
  archived: boolean;
  errorMessage: string;
  id: number;
  immutable: boolean;
  key: string;
  name: string;
  notes: v1Note[];
  numActiveExperiments: number;
  numExperiments: number;
  numRuns: number;
  state: v1WorkspaceState;
  userId: number;
  username: string;
  workspaceId: number;
  description?: string | null;
  lastExperimentStartedAt?: string | null;
  workspaceName?: string | null;
}

export interface v1QueueStats {
  queuedCount: number;
  scheduledCount: number;
}

export interface v1RBACJob {
  full?: v1Job | null;
  limited?: v1LimitedJob | null;
}

export interface v1ResourcePool {
  agentDockerImage: string;
  agentDockerNetwork: string;
  agentDockerRuntime: string;
  agentFluentImage: string;
  auxContainerCapacity: number;
  auxContainerCapacityPerAgent: number;
  auxContainersRunning: number;
  clusterName: string;
  containerStartupScript: string;
  defaultAuxPool: boolean;
  defaultComputePool: boolean;
  description: string;
  details: v1ResourcePoolDetail;
  imageId: string;
  instanceType: string;
  location: string;
  masterCertName: string;
  masterUrl: string;
  maxAgentStartingPeriod: number | "NaN" | "Infinity" | "-Infinity";
  maxAgents: number;
  maxIdleAgentPeriod: number | "NaN" | "Infinity" | "-Infinity";
  minAgents: number;
  name: string;
  numAgents: number;
  preemptible: boolean;
  resourceManagerMetadata: Record<string, string>;
  schedulerFittingPolicy: v1FittingPolicy;
  schedulerType: v1SchedulerType;
  slotType: devicev1Type;
  slotsAvailable: number;
  slotsUsed: number;
  startupScript: string;
  type: v1ResourcePoolType;
  accelerator?: string | null;
  slotsPerAgent?: number | null;
  stats?: v1QueueStats | null;
}

export interface v1ResourcePoolAwsDetail {
  iamInstanceProfileArn: string;
  imageId: string;
  instanceName: string;
  publicIp: boolean;
  region: string;
  rootVolumeSize: number;
  securityGroupId: string;
  spotEnabled: boolean;
  sshKeyName: string;
  tagKey: string;
  tagValue: string;
  customTags?: v1AwsCustomTag[] | null;
  instanceType?: string | null;
  logGroup?: string | null;
  logStream?: string | null;
  spotMaxPrice?: string | null;
  subnetId?: string | null;
}

export interface v1ResourcePoolDetail {
  aws?: v1ResourcePoolAwsDetail | null;
  gcp?: v1ResourcePoolGcpDetail | null;
  priorityScheduler?: v1ResourcePoolPrioritySchedulerDetail | null;
}

export interface v1ResourcePoolGcpDetail {
  bootDiskSize: number;
  bootDiskSourceImage: string;
  externalIp: boolean;
  gpuNum: number;
  gpuType: string;
  labelKey: string;
  labelValue: string;
  machineType: string;
  namePrefix: string;
  network: string;
  operationTimeoutPeriod: number | "NaN" | "Infinity" | "-Infinity";
  preemptible: boolean;
  project: string;
  serviceAccountEmail: string;
  serviceAccountScopes: string[];
  zone: string;
  networkTags?: string[] | null;
  subnetwork?: string | null;
}

export interface v1ResourcePoolPrioritySchedulerDetail {
  defaultPriority: number;
  preemption: boolean;
  k8Priorities?: v1K8PriorityClass[] | null;
}

export type v1ResourcePoolType = "RESOURCE_POOL_TYPE_UNSPECIFIED" | "RESOURCE_POOL_TYPE_AWS" | "RESOURCE_POOL_TYPE_GCP" | "RESOURCE_POOL_TYPE_STATIC" | "RESOURCE_POOL_TYPE_K8S";

export interface v1Role {
  roleId: number;
  name?: string | null;
  permissions?: v1Permission[] | null;
  scopeTypeMask?: v1ScopeTypeMask | null;
}

export interface v1RoleAssignment {
  role: v1Role;
  scopeCluster?: boolean | null;
  scopeWorkspaceId?: number | null;
}

export interface v1RoleAssignmentSummary {
  roleId: number;
  scopeCluster?: boolean | null;
  scopeWorkspaceIds?: number[] | null;
}

export interface v1RoleWithAssignments {
  groupRoleAssignments?: v1GroupRoleAssignment[] | null;
  role?: v1Role | null;
  userRoleAssignments?: v1UserRoleAssignment[] | null;
}

export interface v1SSOProvider {
  name: string;
  ssoUrl: string;
  type: string;
  alwaysRedirect?: boolean | null;
}

export type v1SchedulerType = "SCHEDULER_TYPE_UNSPECIFIED" | "SCHEDULER_TYPE_PRIORITY" | "SCHEDULER_TYPE_FAIR_SHARE" | "SCHEDULER_TYPE_ROUND_ROBIN" | "SCHEDULER_TYPE_KUBERNETES" | "SCHEDULER_TYPE_SLURM" | "SCHEDULER_TYPE_PBS";

export interface v1ScopeTypeMask {
  cluster?: boolean | null;
  workspace?: boolean | null;
}

export interface v1SearchExperimentExperiment {
  experiment: v1Experiment;
  bestTrial?: trialv1Trial | null;
}

export interface v1SearchExperimentsResponse {
  experiments: v1SearchExperimentExperiment[];
  pagination: v1Pagination;
}

export interface v1Slot {
  container?: v1Container | null;
  device?: v1Device | null;
  draining?: boolean | null;
  enabled?: boolean | null;
  id?: string | null;
}

export interface v1SlotStats {
  brandStats: Record<string, v1DeviceStats>;
  typeStats: Record<string, v1DeviceStats>;
}

export interface v1Task {
  allocations: v1Allocation[];
  startTime: string;
  taskId: string;
  taskType: v1TaskType;
  config?: string | null;
  endTime?: string | null;
  forkedFrom?: string | null;
  noPause?: boolean | null;
  parentId?: string | null;
  taskState?: v1GenericTaskState | null;
}

export type v1TaskType = "TASK_TYPE_UNSPECIFIED" | "TASK_TYPE_TRIAL" | "TASK_TYPE_NOTEBOOK" | "TASK_TYPE_SHELL" | "TASK_TYPE_COMMAND" | "TASK_TYPE_TENSORBOARD" | "TASK_TYPE_CHECKPOINT_GC" | "TASK_TYPE_GENERIC";

export interface v1Template {
  config: Record<string, any> | null;
  name: string;
  workspaceId: number;
}

export interface v1TokenInfo {
  id: number;
  userId: number;
  createdAt?: string | null;
  description?: string | null;
  expiry?: string | null;
  revoked?: boolean | null;
  tokenType?: v1TokenType | null;
}

export type v1TokenType = "TOKEN_TYPE_UNSPECIFIED" | "TOKEN_TYPE_USER_SESSION" | "TOKEN_TYPE_ACCESS_TOKEN";

export interface v1TrialLogsFieldsResponse {
  agentIds?: string[] | null;
  containerIds?: string[] | null;
  rankIds?: number[] | null;
  sources?: string[] | null;
  stdtypes?: string[] | null;
}

export interface v1TrialLogsResponse {
  id: string;
  level: v1LogLevel;
  message: string;
  timestamp: string;
  trialId: number;
  agentId?: string | null;
  containerId?: string | null;
  log?: string | null;
  rankId?: number | null;
  source?: string | null;
  stdtype?: string | null;
}

export interface v1TrialProfilerMetricLabels {
  name: string;
  trialId: number;
  agentId?: string | null;
  gpuUuid?: string | null;
  metricType?: TrialProfilerMetricLabelsProfilerMetricType | null;
}

export interface v1TrialProfilerMetricsBatch {
  batches: number[];
  labels: v1TrialProfilerMetricLabels;
  timestamps: string[];
  values: (number | "NaN" | "Infinity" | "-Infinity")[];
}

export interface v1TrialsSampleResponse {
  demotedTrials: number[];
  promotedTrials: number[];
  trials: v1TrialsSampleResponseTrial[];
}

export interface v1TrialsSampleResponseTrial {
  data: v1DataPoint[];
  hparams: Record<string, any> | null;
  trialId: number;
}

export interface v1TrialsSnapshotResponse {
  trials: v1TrialsSnapshotResponseTrial[];
}

export interface v1TrialsSnapshotResponseTrial {
  batchesProcessed: number;
  hparams: Record<string, any> | null;
  metric: number | "NaN" | "Infinity" | "-Infinity";
  trialId: number;
}

export interface v1Trigger {
  condition?: Record<string, any> | null;
  id?: number | null;
  triggerType?: v1TriggerType | null;
  webhookId?: number | null;
}

export type v1TriggerType = "TRIGGER_TYPE_UNSPECIFIED" | "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE" | "TRIGGER_TYPE_METRIC_THRESHOLD_EXCEEDED" | "TRIGGER_TYPE_TASK_LOG" | "TRIGGER_TYPE_CUSTOM";

export interface v1User {
  active: boolean;
  admin: boolean;
  username: string;
  agentUserGroup?: v1AgentUserGroup | null;
  displayName?: string | null;
  id?: number | null;
  lastAuthAt?: string | null;
  modifiedAt?: string | null;
  remote?: boolean | null;
}

export interface v1UserRoleAssignment {
  roleAssignment: v1RoleAssignment;
  userId: number;
}

export interface v1UserWebSetting {
  key: string;
  storagePath?: string | null;
  value?: string | null;
}

export interface v1Webhook {
  mode: v1WebhookMode;
  name: string;
  url: string;
  webhookType: v1WebhookType;
  id?: number | null;
  triggers?: v1Trigger[] | null;
  workspaceId?: number | null;
}

export type v1WebhookMode = "WEBHOOK_MODE_UNSPECIFIED" | "WEBHOOK_MODE_WORKSPACE" | "WEBHOOK_MODE_SPECIFIC";

export type v1WebhookType = "WEBHOOK_TYPE_UNSPECIFIED" | "WEBHOOK_TYPE_DEFAULT" | "WEBHOOK_TYPE_SLACK";

export interface v1Workspace {
  archived: boolean;
  errorMessage: string;
  id: number;
  immutable: boolean;
  name: string;
  numExperiments: number;
  numProjects: number;
  pinned: boolean;
  state: v1WorkspaceState;
  userId: number;
  username: string;
  agentUserGroup?: v1AgentUserGroup | null;
  autoCreatedNamespace?: string | null;
  checkpointStorageConfig?: Record<string, any> | null;
  defaultAuxPool?: string | null;
  defaultComputePool?: string | null;
  pinnedAt?: string | null;
}

export type v1WorkspaceState = "WORKSPACE_STATE_UNSPECIFIED" | "WORKSPACE_STATE_DELETING" | "WORKSPACE_STATE_DELETE_FAILED" | "WORKSPACE_STATE_DELETED";
