/**
 * `npm run mpc -- certificate`: prints the certificate that an operator copies into the trust directories of the other
 * mpc processes.
 */
import type { CliProgram } from '../cli/command.ts'
import type { Identity } from '../keys/mpc/identity.ts'
import { fingerprint } from '../keys/mpc/trust.ts'

const DETAILS = `Without --coordinator it uses the settings of the party: MPC_PARTY, MPC_PARTY_DIR and MPC_PARTY_KEY.
With --coordinator it uses the settings of the signers' keystore: KEYSTORE, KEYSTORE_DIR, KEYSTORE_KEY, and DATABASE_URL
if KEYSTORE is postgres.

Creates the identity if there is none. Prints the certificate to standard output: store it as <name>.crt in the
MPC_TRUST_DIR of every other mpc process. Prints the name and the fingerprint to standard error, for people to compare.`

/** The party of the settings, or the coordinator identity shared by all signers. */
export type IdentityOwner = 'party' | 'coordinator'

/** @throws InvalidSetting when the settings name no such process; Unavailable when its identity cannot be opened */
export type IdentityOf = (owner: IdentityOwner) => Promise<Identity>

export function mpcProgram(identityOf: IdentityOf): CliProgram {
  return {
    name: 'mpc',
    description: 'Sets up the processes of mpc wallets.',
    commands: [
      {
        name: 'certificate',
        summary: 'print the certificate of a party or of the signers',
        details: DETAILS,
        options: [{ flags: '--coordinator', description: 'the certificate of the signers' }],
        run: async ({ options }, io) => {
          const identity = await identityOf(options.coordinator === true ? 'coordinator' : 'party')
          const { name, certificatePem, certificate } = identity
          const digest = fingerprint(certificate)
          io.note(`${name}.crt, SHA-256 fingerprint ${digest}`)
          io.print({ name, fingerprint: digest, certificate: certificatePem }, certificatePem)
          return 0
        },
      },
    ],
  }
}
