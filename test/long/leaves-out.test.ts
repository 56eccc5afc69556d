/**
 * A leaf is a capability that a program can be built without. Each is taken out of a copy of the project: its folder, its
 * line in each of the lists, the entry of a program of its own, and what the sandbox has for it. The test says which files
 * still name it so that they do not compile without it. Where there is none, the copy is started: its workers make a key,
 * its API has all other routes, and signers have no rule for its transactions.
 */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { register } from 'tsx/esm/api'
import ts from 'typescript'
import type * as Capabilities from '../../src/compose/capabilities.ts'
import type * as Declarations from '../../src/declarations.ts'
import { OPENINGS } from '../../src/declarations.ts'
import { createWallet } from '../support/load.ts'
import type * as Database from '../support/postgres.ts'
import type * as Service from '../support/service-local.ts'

type Leaf = {
  /** Files outside of the folder that do not compile without it. None may be added. */
  readonly namedBy: readonly string[]
  /** A file outside whose SQL reads one of its tables: while there is one, the copy is not started. */
  readonly readBy?: { readonly file: string; readonly table: string }
  /** The entry of its own program, what composes that, and what the sandbox prepares for it. */
  readonly program?: readonly string[]
  /** Its routes: the others stay. */
  readonly routes: RegExp
}

const LEAVES: Readonly<Record<string, Leaf>> = {
  swaps: {
    namedBy: [],
    program: ['src/sandbox/added/swaps.ts', 'src/sandbox/added/exchanges.ts', 'src/sandbox/added/pools.ts'],
    routes: /\/swap(\/|$)/,
  },
  nft: {
    namedBy: [],
    program: ['src/sandbox/added/nft.ts'],
    routes: /\/nfts?(\/|$)/,
  },
  signatures: { namedBy: [], routes: /\/(sign|signatures)\// },
  'contract-calls': {
    namedBy: [],
    routes: /\/contract-call$/,
  },
  webhooks: {
    namedBy: [],
    program: ['workers/webhook-sender.ts', 'src/sandbox/added/webhooks.ts'],
    routes: /\/webhooks(\/|$)/,
  },
  recovery: {
    namedBy: [],
    program: ['workers/recovery.ts', 'src/compose/recovery.ts'],
    routes: /\/(export|exports)(\/|$)/,
  },
  audit: {
    namedBy: [],
    program: ['workers/auditor.ts', 'src/compose/auditor.ts'],
    routes: /\/audit\//,
  },
  'mpc-wallets': {
    namedBy: [],
    readBy: { file: 'src/wallets/signer-presence.ts', table: 'mpc_keys' },
    program: [
      'workers/mpc.ts',
      'workers/mpc-party.ts',
      'src/compose/mpc-coverage.ts',
      'src/compose/mpc-identity.ts',
      'src/compose/mpc-party.ts',
      'src/sandbox/added/mpc-wallets.ts',
    ],
    routes: /\/shares(\/|$)/,
  },
}

type Document = { readonly paths: Readonly<Record<string, unknown>> }

/** What follows from an import that is gone, in the same file. */
const FOLLOWING = new Set([7006, 7019, 7031, 18046])
const LISTS = [
  'src/declarations.ts',
  'src/compose/capabilities.ts',
  'src/compose/load-config.ts',
  'src/sandbox/additions.ts',
]
const COPIED = [
  'src',
  'workers',
  'prisma',
  'scripts',
  'test/support',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
]
const root = fileURLToPath(new URL('../..', import.meta.url))

/** The copies are TypeScript, and this test may be a bundle. */
register()

/** A copy of the project without the folder and its lines. Inside the project's folder, so that packages resolve. */
function copyWithout(t: Test, folder: string, { program = [] }: Leaf): string {
  const copy = t.testdir()
  for (const entry of COPIED) cpSync(join(root, entry), join(copy, entry), { recursive: true })
  for (const path of [`src/${folder}`, ...program]) rmSync(join(copy, path), { recursive: true })
  for (const list of LISTS) {
    const path = join(copy, list)
    writeFileSync(path, withoutLines(readFileSync(path, 'utf8'), folder))
  }
  return copy
}

/** A list of capabilities without the import of one and its place. Not every capability is in the third and the fourth list. */
function withoutLines(source: string, folder: string): string {
  const file = `(?:${folder}/(?:declaration|capability|settings)|added/${folder})`
  const line = new RegExp(`import \\{ (\\w+) \\} from '\\.\\.?/${file}\\.ts'\n`)
  const [found, name] = line.exec(source) ?? []
  if (found === undefined || name === undefined) return source
  const place = new RegExp(`^  (?:'${folder}': |\\.\\.\\.)?${name},\n`, 'm')
  if (!place.test(source)) throw new Error(`a list has no place for ${name}`)
  return source.replace(found, '').replace(place, '')
}

/** Files that do not compile for another reason than an error that follows from one before it. */
function brokenIn(copy: string): readonly string[] {
  const { config } = ts.readConfigFile(join(copy, 'tsconfig.json'), ts.sys.readFile)
  const parsed = ts.parseJsonConfigFileContent({ ...config, include: ['src', 'workers'] }, ts.sys, copy)
  const options = { ...parsed.options, noEmit: true }
  // The compiler may be part of a bundle: it looks for its libraries beside itself.
  const libraries = join(root, 'node_modules/typescript/lib')
  const host = ts.createCompilerHost(options)
  host.getDefaultLibLocation = () => libraries
  host.getDefaultLibFileName = (given) => join(libraries, ts.getDefaultLibFileName(given))
  const program = ts.createProgram(parsed.fileNames, options, host)
  const broken = ts
    .getPreEmitDiagnostics(program)
    .flatMap(({ file, code }) => (FOLLOWING.has(code) ? [] : [file?.fileName.slice(copy.length + 1) ?? `TS${code}`]))
  return [...new Set(broken)].sort()
}

async function starts(t: Test, copy: string, { routes }: Leaf): Promise<void> {
  const { withDatabase } = (await import(join(copy, 'test/support/postgres.ts'))) as typeof Database
  const { withLocalService } = (await import(join(copy, 'test/support/service-local.ts'))) as typeof Service
  const { KINDS } = (await import(join(copy, 'src/compose/capabilities.ts'))) as typeof Capabilities
  const { OPENINGS: left } = (await import(join(copy, 'src/declarations.ts'))) as typeof Declarations
  const { url } = await withDatabase(t)
  // No node answers: a wallet needs none.
  const { api, baseUrl } = await withLocalService(t, {
    databaseUrl: url,
    chainUrl: 'http://127.0.0.1:9',
    chainId: 31_337,
  })
  t.match((await createWallet(api, 'ethereum', 'wallet-1')).address, /^0x/, 'the signer made its key')
  const { paths } = (await (await fetch(`${baseUrl}/openapi.json`)).json()) as Document
  const document = JSON.parse(readFileSync(join(root, 'docs/openapi.json'), 'utf8')) as Document
  // The faucet is of the sandbox.
  const all = Object.keys(document.paths).filter((path) => !path.startsWith('/v1/sandbox/'))
  t.ok(
    all.some((path) => routes.test(path)),
    'the whole program has its routes',
  )
  t.strictSame(
    Object.keys(paths),
    all.filter((path) => !routes.test(path)),
    'all other routes stay, in their order',
  )
  const gone = Object.entries(OPENINGS).filter(([opening]) => !(opening in left))
  for (const [opening, { type }] of gone) t.notOk(KINDS.has(type), `${opening} has no rule: it is not signed`)
}

for (const [folder, leaf] of Object.entries(LEAVES))
  t.test(
    `${folder} is named by no other files than these; where there are none, a program without it starts`,
    async (t) => {
      const begun = performance.now()
      const copy = copyWithout(t, folder, leaf)
      const broken = brokenIn(copy)
      t.strictSame(
        broken.filter((path) => !leaf.namedBy.includes(path)),
        [],
        'no other file names it',
      )
      const { readBy } = leaf
      if (readBy !== undefined) t.ok(readFileSync(join(copy, readBy.file), 'utf8').includes(readBy.table), readBy.file)
      else if (broken.length === 0) await starts(t, copy, leaf)
      t.comment(`${folder}: named by ${broken.length} files; ${Math.round((performance.now() - begun) / 1_000)} s`)
    },
  )
