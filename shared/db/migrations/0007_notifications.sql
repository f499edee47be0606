CREATE SEQUENCE "public"."feed_revisions" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1;--> statement-breakpoint
CREATE TABLE "alerts" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"category" text NOT NULL,
	"severity" text NOT NULL,
	"title" text NOT NULL,
	"message" text NOT NULL,
	"link" text,
	"resource_type" text NOT NULL,
	"resource_id" text NOT NULL,
	"project_id" text,
	"server_id" text,
	"user_id" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"told_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "notification_channels" (
	"id" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"kind" text NOT NULL,
	"label" text NOT NULL,
	"config" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"sealed_secret" text,
	"last4" text,
	"revision" integer DEFAULT 1 NOT NULL,
	"enabled" boolean DEFAULT true NOT NULL,
	"verified" boolean DEFAULT false NOT NULL,
	"project_ids" jsonb,
	"server_ids" jsonb,
	"failures" integer DEFAULT 0 NOT NULL,
	"failing_since" timestamp (3) with time zone,
	"blocked_until" timestamp (3) with time zone,
	"last_error" text,
	"lease_token" bigint,
	"lease_until" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"deleted_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "notification_defaults" (
	"organization_id" text NOT NULL,
	"category" text NOT NULL,
	"default_enabled" boolean NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "notification_defaults_organization_id_category_pk" PRIMARY KEY("organization_id","category")
);
--> statement-breakpoint
CREATE TABLE "notification_deliveries" (
	"id" text PRIMARY KEY NOT NULL,
	"alert_id" text,
	"organization_id" text NOT NULL,
	"user_id" text NOT NULL,
	"channel_id" text NOT NULL,
	"channel_kind" text NOT NULL,
	"category" text NOT NULL,
	"severity" text NOT NULL,
	"title" text NOT NULL,
	"message" text NOT NULL,
	"link" text,
	"resource_type" text NOT NULL,
	"resource_id" text NOT NULL,
	"project_id" text,
	"server_id" text,
	"status" text NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"last_error" text,
	"count" integer DEFAULT 1 NOT NULL,
	"revision" bigint DEFAULT nextval('feed_revisions') NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"sent_at" timestamp (3) with time zone,
	"seen_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "notification_subscriptions" (
	"id" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"organization_id" text NOT NULL,
	"channel_id" text NOT NULL,
	"category" text NOT NULL,
	"enabled" boolean NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "server_health" (
	"server_id" text PRIMARY KEY NOT NULL,
	"checked_at" timestamp (3) with time zone NOT NULL,
	"misses" integer DEFAULT 0 NOT NULL,
	"unreachable" boolean DEFAULT false NOT NULL,
	"disk_low" boolean DEFAULT false NOT NULL
);
--> statement-breakpoint
ALTER TABLE "notification_channels" ADD CONSTRAINT "notification_channels_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "notification_defaults" ADD CONSTRAINT "notification_defaults_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "notification_deliveries" ADD CONSTRAINT "notification_deliveries_channel_id_notification_channels_id_fk" FOREIGN KEY ("channel_id") REFERENCES "public"."notification_channels"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "notification_subscriptions" ADD CONSTRAINT "notification_subscriptions_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "notification_subscriptions" ADD CONSTRAINT "notification_subscriptions_channel_id_notification_channels_id_fk" FOREIGN KEY ("channel_id") REFERENCES "public"."notification_channels"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "server_health" ADD CONSTRAINT "server_health_server_id_servers_id_fk" FOREIGN KEY ("server_id") REFERENCES "public"."servers"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "alerts_waiting" ON "alerts" USING btree ("id") WHERE told_at is null;--> statement-breakpoint
CREATE INDEX "alerts_resource" ON "alerts" USING btree ("resource_id","category","id");--> statement-breakpoint
CREATE INDEX "notification_channels_user" ON "notification_channels" USING btree ("user_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "notification_deliveries_once" ON "notification_deliveries" USING btree ("alert_id","channel_id");--> statement-breakpoint
CREATE INDEX "notification_deliveries_log" ON "notification_deliveries" USING btree ("user_id","organization_id","id");--> statement-breakpoint
CREATE INDEX "notification_deliveries_feed" ON "notification_deliveries" USING btree ("user_id","organization_id","id") WHERE channel_kind = 'in_app';--> statement-breakpoint
CREATE INDEX "notification_deliveries_unseen" ON "notification_deliveries" USING btree ("user_id","organization_id") WHERE channel_kind = 'in_app' and seen_at is null;--> statement-breakpoint
CREATE INDEX "notification_deliveries_changes" ON "notification_deliveries" USING btree ("user_id","organization_id","revision") WHERE channel_kind = 'in_app';--> statement-breakpoint
CREATE INDEX "notification_deliveries_open" ON "notification_deliveries" USING btree ("channel_id","id") WHERE status in ('queued', 'sending');--> statement-breakpoint
CREATE UNIQUE INDEX "notification_subscriptions_one" ON "notification_subscriptions" USING btree ("channel_id","organization_id","category");--> statement-breakpoint
CREATE INDEX "notification_subscriptions_user" ON "notification_subscriptions" USING btree ("user_id","organization_id","id");