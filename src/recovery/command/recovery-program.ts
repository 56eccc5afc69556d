/** `npm run recovery`: creates, verifies and uses recovery kits. Prints no secret. */
import { open, unlink } from 'node:fs/promises'
import type { CliCommand, CliProgram } from '../../cli/command.ts'
import { shown } from '../../cli/printed.ts'
import { createIdentity, withoutIdentities } from '../../keys/age.ts'
import type { BackUp } from '../kit/back-up.ts'
import type { KitWallet } from '../kit/format.ts'
import { keyOfWallet } from '../kit/kit-keys.ts'
import { KitRefused } from '../kit/kit-refused.ts'
import type { KitSeed, OpenedKit } from '../kit/open-kits.ts'
import { signSweep } from '../kit/sign-sweep.ts'
import type { OfferedSeed, RestoreSeeds } from '../kit/sources.ts'
import { verifyKit } from '../kit/verify-kit.ts'
import { BACKUP_OPTIONS, readBackup, readTenant, TENANT_OPTION } from './backup-options.ts'
import { KIT_OPTIONS, openPlaces, readSignedBy, type Stdin } from './kit-places.ts'
import {
  backedUpAsJson,
  backedUpAsText,
  isProved,
  originLines,
  originsAsJson,
  originsAsText,
  restoredAsText,
  sweepAsJson,
  sweepAsText,
  verdictsAsJson,
  verdictsAsText,
} from './output.ts'
import { readSweep, readSweepFork, SWEEP_DETAILS, SWEEP_OPTIONS } from './sweep-options.ts'

/** What the commands of this program have. */
export type RecoveryContext = {
  /** Opens the database and the secrets on this machine; nothing else here does. */
  readonly backUp: BackUp
  /** The current wallets of the service. */
  readonly currentWallets: () => Promise<readonly KitWallet[]>
  readonly restoreSeeds: RestoreSeeds
  readonly stdin: Stdin
}

export function recoveryProgram(ports: RecoveryContext): CliProgram {
  return {
    name: 'recovery',
    description: 'Creates, verifies and uses recovery kits.',
    commands: [keygenCommand(), backupCommand(ports), verifyCommand(ports), restoreCommand(ports), sweepCommand(ports)],
    refused: 1,
    errorLine: (message) => `recovery: ${withoutIdentities(message)}`,
  }
}

function keygenCommand(): CliCommand {
  return {
    name: 'keygen',
    summary: 'create an age identity, as age-keygen does, and print its recipient',
    options: [{ flags: '--out <file>', description: 'the file to write the identity to', required: true }],
    async run({ options }, io) {
      const out = String(options.out)
      const { identity, recipient } = await createIdentity()
      const file = `# created: ${new Date().toISOString()}\n# public key: ${recipient}\n${identity}\n`
      await writeIdentity(out, file)
      io.print({ file: out, recipient }, `${recipient}\n`)
      return 0
    },
  }
}

function backupCommand({ backUp }: RecoveryContext): CliCommand {
  return {
    name: 'backup',
    summary: 'make a kit of the secrets on this machine, or add parts to a kit',
    details: 'Exit code 1: refused, or a share is missing.',
    options: BACKUP_OPTIONS,
    async run({ options }, io) {
      const made = await backUp(readBackup(options))
      io.print(backedUpAsJson(made), backedUpAsText(shown(made)))
      return made.leftOut.length === 0 ? 0 : 1
    },
  }
}

function verifyCommand({ stdin, currentWallets }: RecoveryContext): CliCommand {
  return {
    name: 'verify',
    summary: 'check that a kit restores its wallets; changes nothing and works without the service',
    details: 'Exit code 1: refused, or a wallet cannot be restored.',
    options: [
      ...KIT_OPTIONS,
      { flags: '--against-database', description: 'compare the kit with the current wallets of the service' },
    ],
    async run({ options }, io) {
      const kit = await openPlaces(options, stdin)
      const verdicts = verifyKit(kit, options.againstDatabase === true ? await currentWallets() : null)
      io.print(
        verdictsAsJson(kit, verdicts),
        verdictsAsText(io, shown({ problems: kit.problems, origins: kit.origins }), shown(verdicts)),
      )
      // An empty kit proves nothing.
      return isProved(kit, verdicts) ? 0 : 1
    },
  }
}

function restoreCommand({ stdin, restoreSeeds }: RecoveryContext): CliCommand {
  return {
    name: 'restore',
    summary: 'restore the seeds of hd wallets into the keystore of this machine; never replaces a seed',
    details:
      'Everything is checked before anything is written, and all seeds are restored or none. A seed must come from the key that --signed-by\n' +
      'names, from a kit of this keystore key, or fit the wallets of its tenant in the database.',
    options: [
      ...KIT_OPTIONS,
      TENANT_OPTION,
      {
        flags: '--force',
        description: 'also restore a seed that nothing proves, or that wallets in the database do not come from',
      },
    ],
    async run({ options }, io) {
      const tenant = readTenant(options)
      const kit = await openPlaces(options, stdin)
      const { seeds, problems } = kit
      const owners = [...seeds].filter(([owner]) => tenant === null || owner === tenant)
      const wanted = new Map(owners.map(([owner, seed]) => [owner, offered(seed)]))
      for (const [owner, seed] of owners) requireConsistent(kit, owner, seed)
      if (wanted.size === 0) {
        const why = problems.map(({ path, problem }) => `; ${path}: ${problem}`).join('')
        throw new KitRefused(`the opened parts have no seed${tenant === null ? '' : ` of tenant ${tenant}`}${why}`)
      }
      const restored = await restoreSeeds(wanted, { force: options.force === true, trusted: readSignedBy(options) })
      io.print(
        { ...restored, signatures: originsAsJson(kit) },
        restoredAsText(shown(restored)) + originsAsText(shown(kit.origins)),
      )
      return 0
    },
  }
}

function offered({ entropy, origin: { signed } }: KitSeed): OfferedSeed {
  return { entropy, signedBy: signed.state === 'signed' ? signed.key : null }
}

/** @throws KitRefused for a seed of a changed kit, or that does not give the wallets which the kit lists for its tenant */
function requireConsistent(kit: OpenedKit, tenant: string, { origin }: KitSeed): void {
  if (origin.signed.state === 'broken') {
    throw new KitRefused(`${origin.manifest} was changed since it was signed: no seed is restored from it.`)
  }
  for (const wallet of kit.wallets) {
    if (wallet.type !== 'hd' || wallet.tenant !== tenant) continue
    try {
      keyOfWallet(kit, wallet)
    } catch (error) {
      if (!(error instanceof KitRefused)) throw error
      throw new KitRefused(
        `The kit contradicts itself: ${wallet.address} of tenant ${tenant}: ${error.message}. Nothing was restored.`,
      )
    }
  }
}

function sweepCommand({ stdin }: RecoveryContext): CliCommand {
  return {
    name: 'sweep',
    summary: 'sign one transaction without the service and print it; sends nothing',
    details: SWEEP_DETAILS,
    options: [...KIT_OPTIONS, ...SWEEP_OPTIONS],
    async run({ options }, io) {
      const [request, fork] = [readSweep(options), readSweepFork(options)]
      const kit = await openPlaces(options, stdin)
      const sweep = signSweep(kit, request)
      for (const line of originLines(kit.origins)) io.note(`${line}\n`)
      io.print(sweepAsJson(request, fork, sweep), sweepAsText(io, request, fork, sweep))
      return 0
    },
  }
}

/**
 * Writes an identity to a new file, readable by its owner only. Identities are often stored on memory cards, whose file
 * systems have no hard links, so the file is created exclusively.
 *
 * @throws KitRefused when the file exists; system errors when it cannot be written, and then no file is left
 */
async function writeIdentity(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST')
      throw new KitRefused(`${path} already exists: this command never overwrites an identity.`)
    throw error
  })
  try {
    await file.writeFile(text)
    await file.sync()
  } catch (error) {
    await unlink(path)
    throw error
  } finally {
    await file.close()
  }
}
