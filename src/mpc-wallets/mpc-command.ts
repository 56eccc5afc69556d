/**
 * `npm run mpc -- certificate`: prints the certificate that an operator copies into the trust directories of the other
 * mpc processes.
 */
import { parseArgs } from 'node:util'
import { InvalidSetting, Unavailable } from '../core/errors.ts'
import type { Identity } from '../keys/mpc/identity.ts'
import { fingerprint } from '../keys/mpc/trust.ts'

const USAGE = `usage: npm run mpc -- certificate [--coordinator]

  certificate                  print the certificate of the party in MPC_PARTY; uses the settings of that party:
                               MPC_PARTY_DIR and MPC_PARTY_KEY
  certificate --coordinator    print the certificate of the signers; uses the settings of their keystore:
                               KEYSTORE, KEYSTORE_DIR, KEYSTORE_KEY, and DATABASE_URL if KEYSTORE is postgres

Creates the identity if there is none. Prints the certificate to standard output: store it as <name>.crt in the
MPC_TRUST_DIR of every other mpc process. Prints the name and the fingerprint to standard error, for people to compare.

exit codes: 0 done, 2 wrong usage or settings, 3 the existing identity cannot be opened
`

/** The party of the settings, or the coordinator identity shared by all signers. */
export type IdentityOwner = 'party' | 'coordinator'

export type MpcCommandIo = {
  /** @throws InvalidSetting when the settings name no such process; Unavailable when its identity cannot be opened */
  readonly identityOf: (owner: IdentityOwner) => Promise<Identity>
  readonly out: (text: string) => void
  readonly err: (text: string) => void
}

class WrongUsage extends Error {}

/** Runs one command. Returns the exit code described in the usage text. */
export async function mpcCommand(args: readonly string[], io: MpcCommandIo): Promise<number> {
  try {
    const owner = parse(args)
    if (owner === 'help') io.out(USAGE)
    else showCertificate(await io.identityOf(owner), io)
    return 0
  } catch (error) {
    const code = exitCodeOf(error)
    if (code === undefined || !(error instanceof Error)) throw error
    io.err(error instanceof WrongUsage ? `${error.message}\n\n${USAGE}` : `${error.message}\n`)
    return code
  }
}

function showCertificate({ name, certificatePem, certificate }: Identity, { out, err }: MpcCommandIo): void {
  err(`${name}.crt, SHA-256 fingerprint ${fingerprint(certificate)}\n`)
  out(certificatePem)
}

function exitCodeOf(error: unknown): number | undefined {
  if (error instanceof WrongUsage || error instanceof InvalidSetting) return 2
  return error instanceof Unavailable ? 3 : undefined
}

function parse(args: readonly string[]): IdentityOwner | 'help' {
  const { values, positionals } = parsed(args)
  const [command, ...rest] = positionals
  if (values.help || command === 'help') return 'help'
  if (command === undefined) throw new WrongUsage('no command given')
  if (command !== 'certificate') throw new WrongUsage(`unknown command: ${command}`)
  if (rest.length > 0) throw new WrongUsage(`too many arguments: ${rest.join(' ')}`)
  return values.coordinator ? 'coordinator' : 'party'
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { coordinator: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } },
    })
  } catch (error) {
    throw new WrongUsage(error instanceof Error ? error.message : String(error))
  }
}
