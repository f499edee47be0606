# Every part of the platform: edge, platform, deploy, or set-up (functions/container.ts).
#   docker build --target self-hosted -t slipway .
#   docker build --target cloud -t slipway-cloud .      without the modules that the cloud does not have
ARG NODE_IMAGE=node:24-bookworm-slim
FROM ${NODE_IMAGE} AS base
WORKDIR /app
ENV NODE_ENV=production
COPY package.json package-lock.json ./
# No tools of tests and deployments, no Node and no Postgres of its own: the image has the one, compose.yaml the other.
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund && npm cache clean --force
COPY edge ./edge
COPY shared ./shared
COPY functions ./functions
COPY cli ./cli
RUN mkdir -p /data /secrets/instance /secrets/edge /secrets/platform /secrets/deploy /secrets/notify node_modules/.cache \
 && chown -R node:node /data /secrets node_modules/.cache
USER node
ENV HOST=0.0.0.0 PORT=3000 SLIPWAY_DATA_DIR=/data
EXPOSE 3000
ENTRYPOINT ["node", "functions/container.ts"]

FROM base AS cloud
USER root
RUN rm -rf functions/mail functions/migration functions/local.ts functions/one-process.ts
USER node
ENV SLIPWAY_MODE=cloud

FROM base AS self-hosted
