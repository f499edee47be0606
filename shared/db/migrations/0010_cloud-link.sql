CREATE TABLE "cloud_links" (
	"organization_id" text PRIMARY KEY NOT NULL,
	"url" text NOT NULL,
	"sealed_token" text NOT NULL,
	"last4" text NOT NULL,
	"cloud_organization_id" text NOT NULL,
	"cloud_organization_name" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "cloud_resources" (
	"organization_id" text NOT NULL,
	"kind" text NOT NULL,
	"id" text NOT NULL,
	"project_id" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "cloud_resources_organization_id_kind_id_pk" PRIMARY KEY("organization_id","kind","id")
);
--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "location" text DEFAULT 'local' NOT NULL;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "cloud_project_id" text;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "origin_project_id" text;--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD COLUMN "forwarding" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "cloud_links" ADD CONSTRAINT "cloud_links_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "cloud_resources" ADD CONSTRAINT "cloud_resources_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "cloud_resources" ADD CONSTRAINT "cloud_resources_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "projects_origin" ON "projects" USING btree ("organization_id","origin_project_id") WHERE deleted_at is null;