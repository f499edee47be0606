CREATE SEQUENCE "public"."lease_tokens" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1;--> statement-breakpoint
CREATE TABLE "audit_entries" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"user_id" text,
	"credential_id" text,
	"source_ip" text,
	"request_id" text,
	"action" text NOT NULL,
	"resource_kind" text NOT NULL,
	"resource_id" text NOT NULL,
	"fields" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "deployments" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"project_id" text NOT NULL,
	"server_id" text NOT NULL,
	"trigger" text NOT NULL,
	"branch" text,
	"before_sha" text,
	"commit_sha" text,
	"commit_message" text,
	"config" jsonb,
	"sealed_env" text,
	"image_id" text,
	"artifact" text DEFAULT 'none' NOT NULL,
	"mode" text,
	"host_port" integer,
	"container_port" integer,
	"urls" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"phases" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"pinned" boolean DEFAULT false NOT NULL,
	"rollback_of" text,
	"delivery_id" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "domains" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"project_id" text NOT NULL,
	"hostname" text NOT NULL,
	"port" integer,
	"target_path" text,
	"redirect_to" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "domains_hostname_unique" UNIQUE("hostname")
);
--> statement-breakpoint
CREATE TABLE "memberships" (
	"organization_id" text NOT NULL,
	"user_id" text NOT NULL,
	"role" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "memberships_organization_id_user_id_pk" PRIMARY KEY("organization_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "operation_events" (
	"operation_id" text NOT NULL,
	"seq" bigint NOT NULL,
	"at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"type" text NOT NULL,
	"data" jsonb NOT NULL,
	CONSTRAINT "operation_events_operation_id_seq_pk" PRIMARY KEY("operation_id","seq")
);
--> statement-breakpoint
CREATE TABLE "operations" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"kind" text NOT NULL,
	"subject_id" text NOT NULL,
	"state" text NOT NULL,
	"final" boolean DEFAULT false NOT NULL,
	"in_flight" boolean DEFAULT false NOT NULL,
	"next_seq" bigint DEFAULT 1 NOT NULL,
	"progress" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"lease_owner" text,
	"lease_token" bigint,
	"lease_until" timestamp (3) with time zone,
	"run_after" timestamp (3) with time zone,
	"attempts" integer DEFAULT 0 NOT NULL,
	"cancel_requested_at" timestamp (3) with time zone,
	"error" jsonb,
	"created_by" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"started_at" timestamp (3) with time zone,
	"finished_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "organizations" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"primary_owner_id" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "project_env" (
	"project_id" text NOT NULL,
	"key" text NOT NULL,
	"sealed_value" text NOT NULL,
	"fingerprint" text NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "project_env_project_id_key_pk" PRIMARY KEY("project_id","key")
);
--> statement-breakpoint
CREATE TABLE "projects" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"server_id" text NOT NULL,
	"name" text NOT NULL,
	"slug" text NOT NULL,
	"kind" text NOT NULL,
	"source" jsonb NOT NULL,
	"repository" text,
	"branch" text,
	"auto_deploy" boolean DEFAULT true NOT NULL,
	"rebuild_all_next" boolean DEFAULT false NOT NULL,
	"root_directory" text,
	"build_strategy" text DEFAULT 'auto' NOT NULL,
	"build" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"health_check" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"update_strategy" text,
	"resources" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"rollback_window" integer DEFAULT 5 NOT NULL,
	"hook_id" text,
	"sealed_webhook_secret" text,
	"active_deployment_id" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"deleted_at" timestamp (3) with time zone,
	CONSTRAINT "projects_hookId_unique" UNIQUE("hook_id")
);
--> statement-breakpoint
CREATE TABLE "servers" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"name" text NOT NULL,
	"host" text NOT NULL,
	"port" integer NOT NULL,
	"ssh_user" text NOT NULL,
	"auth_kind" text NOT NULL,
	"sealed_credential" text NOT NULL,
	"public_key" text,
	"host_key" text NOT NULL,
	"http_port" integer DEFAULT 80 NOT NULL,
	"https_port" integer DEFAULT 443 NOT NULL,
	"revision" integer DEFAULT 1 NOT NULL,
	"proxy_revision" bigint DEFAULT 0 NOT NULL,
	"last_check" jsonb,
	"bootstrapped_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"deleted_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "tokens" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"user_id" text NOT NULL,
	"name" text NOT NULL,
	"hash" text NOT NULL,
	"permissions" jsonb,
	"project_ids" jsonb,
	"server_ids" jsonb,
	"expires_at" timestamp (3) with time zone,
	"last_used_at" timestamp (3) with time zone,
	"revoked_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "tokens_hash_unique" UNIQUE("hash")
);
--> statement-breakpoint
CREATE TABLE "users" (
	"id" text PRIMARY KEY NOT NULL,
	"email" text NOT NULL,
	"name" text NOT NULL,
	"password_hash" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "users_email_unique" UNIQUE("email")
);
--> statement-breakpoint
CREATE TABLE "webhook_deliveries" (
	"id" text PRIMARY KEY NOT NULL,
	"provider" text NOT NULL,
	"delivery_id" text NOT NULL,
	"organization_id" text,
	"event" text,
	"headers" jsonb NOT NULL,
	"body" "bytea" NOT NULL,
	"status" text NOT NULL,
	"verdict" text,
	"reason" text,
	"outcomes" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"lease_until" timestamp (3) with time zone,
	"received_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"finished_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "audit_entries" ADD CONSTRAINT "audit_entries_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deployments" ADD CONSTRAINT "deployments_id_operations_id_fk" FOREIGN KEY ("id") REFERENCES "public"."operations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deployments" ADD CONSTRAINT "deployments_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deployments" ADD CONSTRAINT "deployments_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deployments" ADD CONSTRAINT "deployments_server_id_servers_id_fk" FOREIGN KEY ("server_id") REFERENCES "public"."servers"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "domains" ADD CONSTRAINT "domains_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "domains" ADD CONSTRAINT "domains_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "memberships" ADD CONSTRAINT "memberships_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "memberships" ADD CONSTRAINT "memberships_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "operation_events" ADD CONSTRAINT "operation_events_operation_id_operations_id_fk" FOREIGN KEY ("operation_id") REFERENCES "public"."operations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "operations" ADD CONSTRAINT "operations_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "project_env" ADD CONSTRAINT "project_env_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "projects" ADD CONSTRAINT "projects_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "projects" ADD CONSTRAINT "projects_server_id_servers_id_fk" FOREIGN KEY ("server_id") REFERENCES "public"."servers"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "servers" ADD CONSTRAINT "servers_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tokens" ADD CONSTRAINT "tokens_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tokens" ADD CONSTRAINT "tokens_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "audit_organization" ON "audit_entries" USING btree ("organization_id","id");--> statement-breakpoint
CREATE INDEX "deployments_organization" ON "deployments" USING btree ("organization_id","id");--> statement-breakpoint
CREATE INDEX "deployments_project" ON "deployments" USING btree ("project_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "deployments_host_port" ON "deployments" USING btree ("server_id","host_port") WHERE host_port is not null;--> statement-breakpoint
CREATE INDEX "domains_project" ON "domains" USING btree ("project_id");--> statement-breakpoint
CREATE UNIQUE INDEX "operations_one_in_flight" ON "operations" USING btree ("subject_id") WHERE in_flight;--> statement-breakpoint
CREATE INDEX "operations_open" ON "operations" USING btree ("run_after") WHERE not final;--> statement-breakpoint
CREATE INDEX "operations_subject" ON "operations" USING btree ("subject_id","created_at");--> statement-breakpoint
CREATE INDEX "projects_organization" ON "projects" USING btree ("organization_id","created_at");--> statement-breakpoint
CREATE INDEX "projects_repository" ON "projects" USING btree ("repository") WHERE deleted_at is null;--> statement-breakpoint
CREATE INDEX "projects_server" ON "projects" USING btree ("server_id");--> statement-breakpoint
CREATE UNIQUE INDEX "projects_slug" ON "projects" USING btree ("slug") WHERE deleted_at is null;--> statement-breakpoint
CREATE INDEX "servers_organization" ON "servers" USING btree ("organization_id","created_at");--> statement-breakpoint
CREATE INDEX "tokens_organization" ON "tokens" USING btree ("organization_id","created_at");--> statement-breakpoint
CREATE UNIQUE INDEX "webhook_deliveries_claim" ON "webhook_deliveries" USING btree ("provider","delivery_id",coalesce(organization_id, ''));--> statement-breakpoint
CREATE INDEX "webhook_deliveries_organization" ON "webhook_deliveries" USING btree ("organization_id","id");--> statement-breakpoint
CREATE INDEX "webhook_deliveries_open" ON "webhook_deliveries" USING btree ("received_at") WHERE status in ('received', 'claimed', 'failed');