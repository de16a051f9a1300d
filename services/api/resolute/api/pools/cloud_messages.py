"""What the OpenAPI documents say of pools in clouds. This release has no such pools: no answer holds these messages."""

from __future__ import annotations

from resolute.api.kernel.messages import Message


class AwsCustomTag(Message, wire_name="v1AwsCustomTag"):
    key: str
    value: str


class AwsDetail(Message, wire_name="v1ResourcePoolAwsDetail"):
    iam_instance_profile_arn: str
    image_id: str
    instance_name: str
    public_ip: bool
    region: str
    root_volume_size: int
    security_group_id: str
    spot_enabled: bool
    ssh_key_name: str
    tag_key: str
    tag_value: str
    custom_tags: tuple[AwsCustomTag, ...] = ()
    instance_type: str = ""
    log_group: str = ""
    log_stream: str = ""
    spot_max_price: str = ""
    subnet_id: str = ""


class GcpDetail(Message, wire_name="v1ResourcePoolGcpDetail"):
    boot_disk_size: int
    boot_disk_source_image: str
    external_ip: bool
    gpu_num: int
    gpu_type: str
    label_key: str
    label_value: str
    machine_type: str
    name_prefix: str
    network: str
    operation_timeout_period: float
    preemptible: bool
    project: str
    service_account_email: str
    service_account_scopes: tuple[str, ...]
    zone: str
    network_tags: tuple[str, ...] = ()
    subnetwork: str = ""
