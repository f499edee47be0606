CREATE TABLE "commit_statuses" (
	"project_id" text NOT NULL,
	"commit_sha" text NOT NULL,
	"organization_id" text NOT NULL,
	"deployment_id" text NOT NULL,
	"state" text NOT NULL,
	"description" text NOT NULL,
	"revision" integer DEFAULT 1 NOT NULL,
	"open" boolean DEFAULT true NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"first_tried_at" timestamp (3) with time zone,
	"not_before" timestamp (3) with time zone,
	"lease_token" bigint,
	"lease_until" timestamp (3) with time zone,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "commit_statuses_project_id_commit_sha_pk" PRIMARY KEY("project_id","commit_sha")
);
--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "host_hook" jsonb;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "status_problem" text;--> statement-breakpoint
CREATE INDEX "commit_statuses_open" ON "commit_statuses" USING btree ("not_before") WHERE open;