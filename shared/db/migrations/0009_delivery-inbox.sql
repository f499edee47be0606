CREATE TABLE "branch_heads" (
	"project_id" text PRIMARY KEY NOT NULL,
	"source" text NOT NULL,
	"head" text,
	"pushed_at" timestamp (3) with time zone,
	"next_look_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"misses" integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD COLUMN "repository" text;--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD COLUMN "branch" text;--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD COLUMN "commit_sha" text;--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD COLUMN "replay" jsonb;--> statement-breakpoint
ALTER TABLE "branch_heads" ADD CONSTRAINT "branch_heads_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "branch_heads_due" ON "branch_heads" USING btree ("next_look_at");--> statement-breakpoint
CREATE INDEX "deployments_delivery" ON "deployments" USING btree ("delivery_id") WHERE delivery_id is not null;