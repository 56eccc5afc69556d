// Holds what stands beside the code to the code: the dependency page, the production shape, the scripts, the lock.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parse } from 'yaml'
import { defects, missingOptionals, platformOf } from '../../scripts/complete-lockfile.mjs'
import { SETTINGS } from '../../src/config/settings.ts'
import { NETWORKS } from '../../src/core/networks.ts'

type Service = {
  readonly image?: string
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string | null>>
  readonly volumes?: readonly string[]
  readonly ports?: readonly string[]
  readonly container_name?: string
  readonly profiles?: readonly string[]
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean }
}
type PackageJson = {
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
  readonly scripts: Readonly<Record<string, string>>
}

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8')
const packageJson = JSON.parse(read('package.json')) as PackageJson
const declared = { ...packageJson.dependencies, ...packageJson.devDependencies }

t.test('every dependency is pinned and earns its line, and no line outlives its dependency', (t) => {
  const page = read('docs/dependencies.md')
  const lines = [...page.matchAll(/^\| `([^`]+)` \| (\S.*?) \|/gm)].map(([, name]) => name ?? '')
  t.strictSame(lines.toSorted(), Object.keys(declared).toSorted())
  t.strictSame(
    Object.entries(declared).filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)),
    [],
  )
  const runTime = page.slice(0, page.indexOf('## For development'))
  t.strictSame(
    Object.keys(packageJson.dependencies).filter((name) => !runTime.includes(`| \`${name}\` |`)),
    [],
    'each stands in its section',
  )
  t.end()
})

t.test('every script names files that exist', (t) => {
  const words = Object.values(packageJson.scripts).flatMap((script) => script.split(' '))
  const paths = words.filter((word) => /\.(ts|mjs)$/.test(word) && !word.includes('*'))
  const built = words.filter((_, index) => words[index - 1] === 'scripts/run.mjs').map((entry) => `workers/${entry}.ts`)
  t.ok(paths.length > 0 && built.length > 0)
  t.strictSame(
    [...paths, ...built].filter((path) => !existsSync(`${root}${path}`)),
    [],
  )
  t.end()
})

t.test('the lock names every platform and no place of download', (t) => {
  t.strictSame(defects(JSON.parse(read('package-lock.json')).packages), [])

  const packages = {
    '': {},
    'node_modules/a': { optionalDependencies: { 'a-linux-x64': '1.0.0', 'a-darwin-arm64': '1.0.0' } },
    'node_modules/a/node_modules/a-linux-x64': { version: '1.0.0', resolved: 'https://registry.example/a.tgz' },
  }
  t.strictSame(missingOptionals(packages), [{ parent: 'node_modules/a', name: 'a-darwin-arm64', version: '1.0.0' }])
  t.equal(defects(packages).length, 2)
  t.strictSame(platformOf('@x/cli-linux-x64-musl'), { cpu: ['x64'], os: ['linux'], libc: ['musl'] })
  t.strictSame(platformOf('@x/tool-win32-amd64'), { cpu: ['x64'], os: ['win32'] })
  t.throws(() => platformOf('@x/tool'), /names no platform/)
  t.end()
})

const compose = read('docker-compose.yml')
const services = (parse(compose, { merge: true }) as { services: Record<string, Service> }).services
const ours = Object.entries(services).filter(([, { command }]) => command?.[0] === 'node')

t.test('each entry point of workers/ is a service, and each of our services starts a file that is built', (t) => {
  const started = ours.map(([, { command }]) => command?.[1] ?? '')
  for (const path of started) {
    const name = /^dist\/bin\/(.+)\.js$/.exec(path)?.[1]
    t.ok(name === 'api' || existsSync(`${root}workers/${name}.ts`), `${path} has its source`)
  }
  const commandLines = ['bursar', 'keys', 'jobs', 'recovery', 'mpc'] // Run by an operator, not as services.
  const entries = readdirSync(`${root}workers`).filter((name) => !commandLines.includes(name.replace(/\.ts$/, '')))
  t.strictSame(
    entries.map((name) => `dist/bin/${name.replace(/\.ts$/, '.js')}`).filter((path) => !started.includes(path)),
    [],
  )
  t.ok(started.includes('dist/bin/api.js'), 'the API is a service')
  t.end()
})

t.test('the signers alone get the key-encryption key and the keystore', (t) => {
  for (const [name, service] of Object.entries(services)) {
    t.equal('KEYSTORE_KEY' in (service.environment ?? {}), name === 'signer', `${name} and the key`)
    t.equal(
      (service.volumes ?? []).some((volume) => volume.startsWith('keystore:')),
      name === 'signer',
      `${name} and the keystore`,
    )
  }
  t.notOk(compose.includes('env_file'), 'no service is handed the whole of .env')
  t.end()
})

t.test('each mpc party has a key and a volume that nobody else gets, and no process can write whom it trusts', (t) => {
  const parties = Object.keys(services).filter((name) => name.startsWith('mpc-party-'))
  t.strictSame(parties, ['mpc-party-1', 'mpc-party-2', 'mpc-party-3'])
  for (const [name, { environment = {}, volumes = [], profiles }] of Object.entries(services)) {
    const isParty = parties.includes(name)
    const own = volumes.filter((volume) => volume.startsWith('mpc-party-'))
    t.strictSame(own, isParty ? [`${name}:/mpc-party`] : [], `${name} and the shares`)
    t.strictSame(profiles, isParty ? ['mpc'] : name === 'operator' ? [name] : undefined, `${name} and the profile`)
    const number = name.replace('mpc-party-', '')
    t.equal(environment.MPC_PARTY, isParty ? number : undefined)
    t.equal(environment.MPC_PARTY_KEY, isParty ? `\${MPC_PARTY_${number}_KEY:?set it in .env}` : undefined)
    const knowsPeers = isParty || name === 'signer'
    t.equal('MPC_PARTY_ADDRESSES' in environment, knowsPeers, `${name} and where the parties are`)
    const trust = volumes.filter((volume) => volume.includes('mpc-trust'))
    t.strictSame(trust, knowsPeers ? ['./mpc-trust:/mpc-trust:ro'] : [], `${name} and whom it trusts`)
  }
  t.end()
})

t.test('each service has a database user of its own, and the owner of the tables is for migrations alone', (t) => {
  const users = ours.map(([name, { environment }]) => {
    const [, user, password] = /^postgresql:\/\/(\w+):\$\{(\w+):/.exec(environment?.DATABASE_URL ?? '') ?? []
    t.equal(environment?.DATABASE_ROLES, 'required', `${name} does not start as the owner`)
    t.equal(environment?.DATABASE_TLS, name.startsWith('mpc-party-') ? 'off' : undefined)
    return { name, user, password }
  })
  const kinds = new Map([['chain-follower', 'follower']])
  for (const { name, user, password } of users) {
    const kind = (kinds.get(name) ?? name).replace(/^mpc-/, '')
    const variable = kind.toUpperCase().replace('-', '_')
    const own = { user: `bursar_${kind.replace('-', '_')}_login`, password: `DATABASE_PASSWORD_${variable}` }
    t.strictSame({ user, password }, name === 'migrate' ? { user: 'bursar', password: 'POSTGRES_PASSWORD' } : own)
    if (name === 'migrate') continue
    t.match(services.migrate?.environment?.DATABASE_LOGINS, `${kind}=\${${own.password}:?set it in .env}`)
  }
  t.end()
})

t.test('workers scale: no fixed name, no host port, and they wait for the schema and for Redis', (t) => {
  for (const [name, service] of ours.filter(([name]) => !['migrate', 'operator'].includes(name))) {
    t.equal(service.container_name, undefined)
    t.equal(service.ports === undefined, name !== 'api', `${name} and its port`)
    t.equal('METRICS_PORT' in (service.environment ?? {}), name !== 'api', `${name} and where its health check asks`)
    t.equal(service.healthcheck, undefined, `${name} is checked as the image says`)
    t.match(service.depends_on, {
      migrate: { condition: 'service_completed_successfully' },
      redis: { condition: 'service_healthy' },
    })
    t.ok(service.environment?.DATABASE_URL && service.environment.REDIS_URL, `${name} knows both`)
  }
  t.match(services.migrate?.depends_on, { postgres: { condition: 'service_healthy' } })
  for (const name of ['postgres', 'redis']) t.ok(services[name]?.healthcheck?.test, `${name} has a health check`)
  t.end()
})

t.test('.env.example and docker-compose.yml speak of the same settings, and Bursar has them', (t) => {
  const composes = 'COMPOSE_PROFILES' // Read by docker compose itself.
  const offered = [...read('.env.example').matchAll(/^(?:# )?([A-Z][A-Z0-9_]+)=/gm)].map(([, name]) => name ?? '')
  const interpolated = [...compose.matchAll(/\$\{([A-Z0-9_]+)/g)].map(([, name]) => name ?? '')
  const passedOn = Object.values(services).flatMap(({ environment }) =>
    Object.entries(environment ?? {}).flatMap(([name, value]) => (value === null ? [name] : [])),
  )
  t.strictSame(offered.toSorted(), [...new Set([composes, ...interpolated, ...passedOn])].toSorted())

  const known = SETTINGS.flatMap(({ name }) =>
    name.startsWith('<NET>')
      ? NETWORKS.flatMap((network) =>
          ['', '_TESTNET'].map((of) => name.replace('<NET>', `${network.toUpperCase()}${of}`)),
        )
      : [name],
  )
  const handed = ours.flatMap(([, { environment }]) => Object.keys(environment ?? {}))
  t.ok(handed.length > 0)
  t.strictSame(
    [...new Set(handed)].filter((name) => !known.includes(name)),
    [],
  )
  t.end()
})

t.test('the image copies only what exists, and nothing that .dockerignore holds back', (t) => {
  const sources = [...read('Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(
    ([, paths]) => paths?.split(' ') ?? [],
  )
  const sent = [...read('.dockerignore').matchAll(/^!(.+)$/gm)].map(([, path]) => path ?? '')
  t.strictSame(sources.toSorted(), sent.toSorted())
  t.strictSame(
    sources.filter((path) => !existsSync(`${root}${path}`)),
    [],
  )
  t.end()
})
