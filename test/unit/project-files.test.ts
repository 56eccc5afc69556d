// Checks the production setup against the code: docker-compose.yml, the image, the secrets, .env.example.

import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parse } from 'yaml'
import { loginNameOf, loginOf } from '../../src/compose/database-roles/logins.ts'
import { loadConfig, SETTINGS } from '../../src/compose/load-config.ts'
import { NETWORKS } from '../../src/core/networks.ts'
import { PROCESS_LIST } from '../../src/core/processes.ts'
import { matchExactly } from '../support/match-exactly.ts'

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
  readonly networks?: readonly string[]
  readonly secrets?: readonly string[]
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly cap_add?: readonly string[]
  readonly security_opt?: readonly string[]
  readonly ulimits?: Readonly<Record<string, number>>
  readonly deploy?: { readonly resources?: { readonly limits?: Readonly<Record<string, string | number>> } }
}

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8')
const compose = read('docker-compose.yml')
const { services, networks, secrets } = parse(compose, { merge: true }) as {
  readonly services: Readonly<Record<string, Service>>
  readonly networks: Readonly<Record<string, { readonly internal?: boolean } | null>>
  readonly secrets: Readonly<Record<string, { readonly file: string }>>
}
const ours = Object.entries(services).filter(([, { command }]) => command?.[0] === 'node')

t.test('each entry point of workers/ is a service, and each of our services starts a file that is built', (t) => {
  const started = ours.map(([, { command }]) => command?.find((word) => word.startsWith('dist/')) ?? '')
  for (const path of started) {
    const name = /^dist\/bin\/(.+)\.js$/.exec(path)?.[1]
    t.ok(name === 'api' || existsSync(`${root}workers/${name}.ts`), `${path} has a source file`)
  }
  const commandLines = ['bursar', 'keys', 'jobs', 'recovery', 'mpc'] // Run by an operator, not as services.
  const entries = readdirSync(`${root}workers`).map((name) => name.replace(/\.ts$/, ''))
  matchExactly(
    t,
    entries.filter((name) => !commandLines.includes(name)),
    [...PROCESS_LIST.map(({ kind }) => kind).filter((kind) => kind !== 'api'), 'migrate'].sort(),
  )
  for (const { kind, numbered } of PROCESS_LIST) {
    const own = ours.filter(([, { command }]) => command?.includes(`dist/bin/${kind}.js`)).map(([name]) => name)
    matchExactly(t, own, numbered ? [1, 2, 3].map((number) => `${kind}-${number}`) : [kind])
  }
  t.end()
})

t.test('each service gets the secrets of its process, and no other', (t) => {
  const common = /^(database_url_.+|redis_url|postgres_ca)$/
  for (const { kind, numbered, secrets: own } of PROCESS_LIST)
    for (const number of numbered ? ['1', '2', '3'] : [null]) {
      const name = number === null ? kind : `${kind}-${number}`
      const given = services[name]?.secrets?.filter((secret) => !common.test(secret)) ?? []
      matchExactly(
        t,
        given.toSorted(),
        Object.values(own)
          .map((secret) => secret.replace('<n>', number ?? ''))
          .toSorted(),
      )
    }
  t.end()
})

t.test('what follows from the table of processes is current', async (t) => {
  const { PARTS } = (await import('../../scripts/process-pages.mjs')) as {
    PARTS: Readonly<Record<string, (text: string, processes: typeof PROCESS_LIST) => string>>
  }
  for (const [path, write] of Object.entries(PARTS))
    t.equal(read(path), write(read(path), PROCESS_LIST), `${path} is current: run npm run processes`)
})

t.test('the signers alone get the key-encryption key and the keystore', (t) => {
  for (const [name, service] of Object.entries(services)) {
    t.equal(service.secrets?.includes('keystore_key') ?? false, name === 'signer', `only the signer has it: ${name}`)
    t.equal(
      (service.volumes ?? []).some((volume) => volume.startsWith('keystore:')),
      name === 'signer',
      `only the signer has the keystore: ${name}`,
    )
  }
  t.notOk(compose.includes('env_file'), 'no service gets the whole .env file')
  t.end()
})

t.test('each mpc party has a key and a volume that nobody else gets, and no process can write whom it trusts', (t) => {
  const parties = Object.keys(services).filter((name) => name.startsWith('mpc-party-'))
  t.strictSame(parties, ['mpc-party-1', 'mpc-party-2', 'mpc-party-3'])
  for (const [name, { environment = {}, volumes = [], profiles, secrets = [] }] of Object.entries(services)) {
    const isParty = parties.includes(name)
    const own = volumes.filter((volume) => volume.startsWith('mpc-party-'))
    t.strictSame(own, isParty ? [`${name}:/mpc-party`] : [], `only a party mounts its own shares: ${name}`)
    const profile = isParty ? ['mpc'] : name === 'operator' ? ['operator'] : undefined
    t.strictSame(profiles, profile, `${name} has the expected profile`)
    const number = name.replace('mpc-party-', '')
    t.equal(environment.MPC_PARTY, isParty ? number : undefined)
    const keys = secrets.filter((secret) => secret.startsWith('mpc_party_'))
    t.strictSame(keys, isParty ? [`mpc_party_${number}_key`] : [], `only a party has its own key: ${name}`)
    const knowsPeers = isParty || name === 'signer'
    t.equal('MPC_PARTY_ADDRESSES' in environment, knowsPeers, `only a signer or party knows the parties: ${name}`)
    const trust = volumes.filter((volume) => volume.includes('mpc-trust'))
    t.strictSame(trust, knowsPeers ? ['./mpc-trust:/mpc-trust:ro'] : [], `only a signer or party mounts it: ${name}`)
  }
  t.end()
})

t.test('workers scale: no fixed name, no host port, and they wait for the schema and for Redis', (t) => {
  for (const [name, service] of ours.filter(([name]) => name !== 'migrate' && name !== 'operator')) {
    t.equal(service.container_name, undefined)
    t.equal(service.ports, undefined, `${name} has no port on the host`)
    t.ok(service.environment?.METRICS_PORT, `${name} has a port for its health check`)
    t.equal(service.healthcheck, undefined, `${name} uses the health check of the image`)
    t.match(service.depends_on, { migrate: { condition: 'service_completed_successfully' } })
    const queues = !name.startsWith('mpc-party-')
    t.equal('REDIS_URL_FILE' in (service.environment ?? {}), queues, `Redis is for services with a queue: ${name}`)
    t.equal('redis' in (service.depends_on ?? {}), queues, `only services with a queue wait for Redis: ${name}`)
    t.ok(service.environment?.DATABASE_URL_FILE, `${name} gets the URL of its database`)
  }
  t.match(services.migrate?.depends_on, { postgres: { condition: 'service_healthy' } })
  for (const name of ['postgres', 'redis']) t.ok(services[name]?.healthcheck?.test, `${name} has a health check`)
  t.end()
})

t.test('every container is confined, and every image is pinned by its digest', (t) => {
  for (const [name, service] of Object.entries(services)) {
    t.equal(service.read_only, true, `${name} has a read-only file system`)
    t.strictSame(service.cap_drop, ['ALL'], `${name} drops all capabilities`)
    t.strictSame(service.cap_add, name === 'caddy' ? ['NET_BIND_SERVICE'] : undefined, `only Caddy has one: ${name}`)
    t.strictSame(service.security_opt, ['no-new-privileges:true'], `${name} cannot gain privileges`)
    t.strictSame(service.ulimits, { core: 0 }, `${name} writes its memory to no core dump`)
    const limits = service.deploy?.resources?.limits ?? {}
    for (const limit of ['cpus', 'memory', 'pids']) t.ok(limits[limit], `${name} has the limit ${limit}`)
    if (service.image !== 'bursar') t.match(service.image, /^[a-z]+:[^@]+@sha256:[0-9a-f]{64}$/, `${name} has a digest`)
  }
  const bases = [...read('Dockerfile').matchAll(/^FROM (\S+)/gm)].map(([, image]) => image ?? '')
  t.ok(bases.length > 0)
  for (const base of bases) t.match(base, /^node:24\.[^@]+@sha256:[0-9a-f]{64}$/, 'the image runs on Node 24')
  t.end()
})

t.test('services share a network only where they need to, and Caddy alone has ports on the host', (t) => {
  const membersOf = (network: string) =>
    Object.entries(services).flatMap(([name, service]) => (service.networks?.includes(network) ? [name] : []))
  t.strictSame(membersOf('edge'), ['caddy', 'api'])
  t.ok(membersOf('queue').includes('redis') && membersOf('queue').includes('signer'))
  const parties = ['mpc-party-1', 'mpc-party-2', 'mpc-party-3']
  t.strictSame(membersOf('parties'), ['signer', ...parties])
  t.strictSame(membersOf('party-database'), ['postgres', ...parties])
  for (const name of parties)
    t.strictSame(services[name]?.networks, ['party-database', 'parties', 'party-nodes'], `${name} cannot reach Redis`)
  for (const name of ['database', 'queue', 'party-database', 'parties'])
    t.equal(networks[name]?.internal, true, `${name} has no route to the internet`)
  t.strictSame(
    Object.entries(services).flatMap(([name, { ports }]) => (ports === undefined ? [] : [name])),
    ['caddy'],
  )
  t.equal(services.api?.environment?.TRUSTED_PROXIES, 'uniquelocal', 'the API counts failures by client, not by proxy')
  t.end()
})

t.test('each service has a database user of its own, and the owner of the tables is for migrations alone', (t) => {
  const directory = t.testdir()
  execFileSync('sh', [`${root}scripts/make-secrets.sh`, directory])
  const secretOf = (name: string) => readFileSync(`${directory}/${name}`, 'utf8').trim()
  const logins = loadConfig({ DATABASE_LOGINS: secretOf('database_logins') }).database.logins.map(loginOf)
  for (const [name, { environment = {}, secrets: given = [] }] of ours) {
    const user = name === 'migrate' ? 'owner' : name === 'operator' ? name : loginNameOf(name)
    const secret = `database_url_${user.replace('-', '_')}`
    t.equal(environment.DATABASE_URL_FILE, `/run/secrets/${secret}`)
    t.strictSame(
      given.filter((each) => each.startsWith('database_url_')),
      [secret],
      `${name} gets the URL of its own database user only`,
    )
    t.equal(given.includes('database_logins'), name === 'migrate', `only migrate gets all passwords: ${name}`)
    t.equal(environment.DATABASE_ROLES, name === 'migrate' ? undefined : 'required', `${name} has the expected role`)
    t.notOk('DATABASE_TLS' in environment, `${name} verifies the certificate of the database`)
    const url = new URL(secretOf(secret))
    t.strictSame(
      [url.host, url.searchParams.get('sslmode'), url.searchParams.get('sslrootcert')],
      ['postgres:5432', 'verify-full', '/run/secrets/postgres_ca'],
    )
    if (name === 'migrate') t.strictSame([url.username, url.password], ['bursar', secretOf('postgres_password')])
    else t.equal(logins.find((login) => login.user === url.username)?.password, url.password, `${name} can log in`)
  }
  t.end()
})

t.test('a secret is a file of its own, made by scripts/make-secrets.sh, and none is in an environment', (t) => {
  const directory = t.testdir()
  const make = () => execFileSync('sh', [`${root}scripts/make-secrets.sh`, directory], { encoding: 'utf8' })
  make()
  const made = readdirSync(directory)
  t.strictSame(made.toSorted(), Object.keys(secrets).toSorted())
  for (const [name, { file }] of Object.entries(secrets)) t.equal(file, `./secrets/${name}`)
  const contents = () => made.map((name) => readFileSync(`${directory}/${name}`, 'utf8'))
  const before = contents()
  t.equal(new Set(before).size, made.length, 'no two secrets are equal')
  t.equal(make(), '', 'a second run of the script prints nothing')
  t.strictSame(contents(), before)

  for (const [name, { environment = {}, secrets: given = [] }] of Object.entries(services)) {
    const files = Object.entries(environment).filter(([variable]) => variable.endsWith('_FILE'))
    const mounted = files.flatMap(([, path]) => (path?.startsWith('/run/secrets/') ? [path.slice(13)] : []))
    for (const secret of mounted) t.ok(given.includes(secret), `${name} gets ${secret}`)
    for (const secret of given) t.ok(secret in secrets, `${secret} of ${name} is declared as a secret`)
    for (const { name: setting } of SETTINGS.filter((each) => each.secret)) {
      const optional = setting.startsWith('IPFS_API_')
      if (!optional) t.notOk(setting in environment, `${setting} of ${name} is not in its environment`)
    }
  }
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
  const handed = ours.flatMap(([, { environment }]) =>
    Object.keys(environment ?? {}).map((name) => (known.includes(name) ? name : name.replace(/_FILE$/, ''))),
  )
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
