CREATE TABLE "project_services" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"project_id" text NOT NULL,
	"name" text NOT NULL,
	"image" text,
	"build" jsonb,
	"ports" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"depends_on" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"volumes" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"watch_paths" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"command" text,
	"health_check" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"update_strategy" text,
	"resources" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"sealed_environment" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "registries" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"name" text NOT NULL,
	"host" text NOT NULL,
	"username" text NOT NULL,
	"sealed_secret" text NOT NULL,
	"last4" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"deleted_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "released_routes" (
	"server_id" text NOT NULL,
	"hostname" text NOT NULL,
	"project_id" text NOT NULL,
	"target_path" text,
	"redirect_to" text,
	"upstream_port" integer NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "released_routes_server_id_hostname_pk" PRIMARY KEY("server_id","hostname")
);
--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "volumes" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "deleting_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "project_services" ADD CONSTRAINT "project_services_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "project_services" ADD CONSTRAINT "project_services_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "registries" ADD CONSTRAINT "registries_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "released_routes" ADD CONSTRAINT "released_routes_server_id_servers_id_fk" FOREIGN KEY ("server_id") REFERENCES "public"."servers"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "released_routes" ADD CONSTRAINT "released_routes_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "project_services_name" ON "project_services" USING btree ("project_id",lower(name));--> statement-breakpoint
CREATE INDEX "registries_organization" ON "registries" USING btree ("organization_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "registries_host" ON "registries" USING btree ("organization_id","host") WHERE deleted_at is null;--> statement-breakpoint
ALTER TABLE "deployments" DROP COLUMN "phases";