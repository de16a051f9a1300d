CREATE TABLE read_rbac.groups (
    id int PRIMARY KEY,
    name text NOT NULL
);
CREATE INDEX groups_name ON read_rbac.groups (name);

CREATE TABLE read_rbac.members (
    group_id int NOT NULL,
    user_id int NOT NULL,
    PRIMARY KEY (group_id, user_id)
);
CREATE INDEX members_user ON read_rbac.members (user_id);

-- 0 in the place of an id: not of a user, not of a group, not on a workspace but on the whole cluster.
CREATE TABLE read_rbac.assignments (
    user_id int NOT NULL,
    group_id int NOT NULL,
    role_id int NOT NULL,
    workspace_id int NOT NULL,
    PRIMARY KEY (user_id, group_id, role_id, workspace_id)
);
-- What every cluster begins with, without an event: the user admin has the role ClusterAdmin.
INSERT INTO read_rbac.assignments VALUES (1, 0, 1, 0);
CREATE INDEX assignments_group ON read_rbac.assignments (group_id);
CREATE INDEX assignments_workspace ON read_rbac.assignments (workspace_id);
CREATE INDEX assignments_role ON read_rbac.assignments (role_id);
