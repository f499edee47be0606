CREATE TABLE "git_connections" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"name" text NOT NULL,
	"provider" text NOT NULL,
	"base_url" text NOT NULL,
	"kind" text NOT NULL,
	"sealed_secret" text NOT NULL,
	"last4" text NOT NULL,
	"host_key" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"deleted_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "git_connections" ADD CONSTRAINT "git_connections_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "git_connections_organization" ON "git_connections" USING btree ("organization_id","id");--> statement-breakpoint
CREATE INDEX "projects_connection" ON "projects" USING btree ((source ->> 'connectionId')) WHERE deleted_at is null;