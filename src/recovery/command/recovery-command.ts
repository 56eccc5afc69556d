/**
 * `npm run recovery -- keygen|backup|verify|restore|sweep`: the operator command for recovery kits. Prints no secret.
 */
import { readFile } from 'node:fs/promises'
import { BursarError, Unavailable } from '../../core/errors.ts'
import { assertNever } from '../../core/never.ts'
import { createIdentity, parseIdentities, withoutIdentities } from '../age.ts'
import type { BackUp } from '../kit/back-up.ts'
import type { KitWallet } from '../kit/format.ts'
import { readKits } from '../kit/kit-directory.ts'
import { KitRefused } from '../kit/kit-refused.ts'
import { type OpenedKit, openKits } from '../kit/open-kits.ts'
import { signSweep } from '../kit/sign-sweep.ts'
import type { RestoreSeeds } from '../kit/sources.ts'
import { verifyKit } from '../kit/verify-kit.ts'
import { type KitPlaces, parseRecoveryArguments, type RecoveryCommand } from './arguments.ts'
import {
  backedUpAsJson,
  backedUpAsText,
  json,
  restoredAsText,
  sweepAsJson,
  sweepAsText,
  verdictsAsJson,
  verdictsAsText,
} from './output.ts'
import { RECOVERY_USAGE, WrongUsage } from './usage.ts'
import { writeIdentity } from './write-identity.ts'

export type RecoveryCommandIo = {
  /** Opens the database and the secrets on this machine; nothing else here does. */
  readonly backUp: BackUp
  /** The current wallets of the service. */
  readonly currentWallets: () => Promise<readonly KitWallet[]>
  readonly restoreSeeds: RestoreSeeds
  readonly stdin: () => Promise<string>
  readonly out: (text: string) => void
  readonly err: (text: string) => void
}

/** Runs one command. Returns the exit code described in the usage text; errors are one line on `err`. */
export async function recoveryCommand(args: readonly string[], io: RecoveryCommandIo): Promise<number> {
  try {
    return await run(parseRecoveryArguments(args), io)
  } catch (error) {
    const code = exitCodeOf(error)
    if (code === undefined || !(error instanceof Error)) throw error
    const hint = code === 2 ? ' (see: npm run recovery -- help)' : ''
    io.err(`recovery: ${withoutIdentities(error.message.replaceAll(/\s*\n\s*/g, ' '))}${hint}\n`)
    return code
  }
}

function exitCodeOf(error: unknown): number | undefined {
  if (error instanceof WrongUsage) return 2
  if (error instanceof Unavailable) return 3
  if (error instanceof BursarError || isOfFiles(error)) return 1
  return undefined
}

/** No such directory, no space, no permission: the system's message names the path and is enough. */
function isOfFiles(error: unknown): boolean {
  const { syscall, path, dest } = error as { syscall?: unknown; path?: unknown; dest?: unknown }
  return typeof syscall === 'string' && (path ?? dest ?? syscall) !== undefined
}

async function run(command: RecoveryCommand, io: RecoveryCommandIo): Promise<number> {
  switch (command.name) {
    case 'help':
      io.out(RECOVERY_USAGE)
      return 0
    case 'keygen':
      return keygen(command, io)
    case 'backup': {
      const made = await io.backUp(command.request)
      io.out(command.json ? json(backedUpAsJson(made)) : backedUpAsText(made))
      return made.leftOut.length === 0 ? 0 : 1
    }
    case 'verify':
      return verify(command, io)
    case 'restore':
      return restore(command, io)
    case 'sweep': {
      const kit = await openPlaces(command.places, io)
      const sweep = signSweep(kit, command.request)
      io.out(command.json ? json(sweepAsJson(command.request, sweep)) : sweepAsText(command.request, sweep))
      return 0
    }
    default:
      return assertNever(command)
  }
}

async function keygen(
  { out, json: asJson }: Extract<RecoveryCommand, { name: 'keygen' }>,
  io: RecoveryCommandIo,
): Promise<number> {
  const { identity, recipient } = await createIdentity()
  const file = `# created: ${new Date().toISOString()}\n# public key: ${recipient}\n${identity}\n`
  await writeIdentity(out, file)
  io.out(asJson ? json({ file: out, recipient }) : `${recipient}\n`)
  return 0
}

async function verify(
  { places, againstDatabase, json: asJson }: Extract<RecoveryCommand, { name: 'verify' }>,
  io: RecoveryCommandIo,
): Promise<number> {
  const kit = await openPlaces(places, io)
  const verdicts = verifyKit(kit, againstDatabase ? await io.currentWallets() : null)
  io.out(asJson ? json(verdictsAsJson(kit, verdicts)) : verdictsAsText(kit, verdicts))
  // An empty kit proves nothing.
  return verdicts.length > 0 && verdicts.every(({ ok }) => ok) ? 0 : 1
}

async function restore(
  { places, tenant, json: asJson }: Extract<RecoveryCommand, { name: 'restore' }>,
  io: RecoveryCommandIo,
): Promise<number> {
  const { seeds, problems } = await openPlaces(places, io)
  const owners = [...seeds].filter(([owner]) => tenant === null || owner === tenant)
  const wanted = new Map(owners.map(([owner, { entropy }]) => [owner, entropy]))
  if (wanted.size === 0) {
    const why = problems.map(({ path, problem }) => `; ${path}: ${problem}`).join('')
    throw new KitRefused(`the opened parts have no seed${tenant === null ? '' : ` of tenant ${tenant}`}${why}`)
  }
  const restored = await io.restoreSeeds(wanted)
  io.out(asJson ? json(restored) : restoredAsText(restored))
  return 0
}

async function openPlaces({ kits, identityFiles }: KitPlaces, { stdin }: RecoveryCommandIo): Promise<OpenedKit> {
  const identities: string[] = []
  for (const file of identityFiles) {
    const text = file === '-' ? await stdin() : await readFile(file, 'utf8')
    identities.push(...(await parseIdentities(text, file === '-' ? 'standard input' : file)))
  }
  return openKits(await readKits(kits), identities)
}
