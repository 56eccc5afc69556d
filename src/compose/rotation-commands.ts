/** The commands that change a key-encryption key, each with the secrets it seals. */
import { BadInput, type CliCommand, type Within } from '../cli/command.ts'
import { rotateKeyCommand, type SealedPlace } from '../key-rotation/rotate-key-command.ts'
import { lockDirectory } from '../keys/mpc/directory-lock.ts'
import { partyName } from '../keys/mpc/party-names.ts'
import { rotatePostgresKeystore } from '../keys/postgres-keystore.ts'
import { finishReplacing } from '../keys/replace-files.ts'
import { rotateDirectory } from '../keys/rotate-directory.ts'
import { directoryExists } from '../keys/usable-directory.ts'
import { MPC_PARTY_DIR, openPartyKek } from '../mpc-wallets/identities.ts'
import type { Kernel } from './kernel.ts'
import { KEYSTORE_DIR, openKeystore } from './open-keystore.ts'
import { withKernel } from './run-command.ts'

export function composeRotationCommands(env: NodeJS.ProcessEnv): readonly CliCommand[] {
  const within =
    (placeOf: (kernel: Kernel) => SealedPlace): Within<SealedPlace> =>
    (task) =>
      withKernel(env, async (kernel) => task(placeOf(kernel)))
  return [
    rotateKeyCommand(
      {
        name: 'keystore rotate-key',
        summary: 're-encrypt the seeds of all tenants and the identity of the coordinator with a new KEYSTORE_KEY',
        details: 'Run it with the settings of the signers, including the old KEYSTORE_KEY. Stop all signers first.',
        setting: 'KEYSTORE_KEY',
      },
      within(keystorePlace),
    ),
    rotateKeyCommand(
      {
        name: 'mpc rotate-key',
        summary: 're-encrypt the shares and the identity of an mpc party with a new MPC_PARTY_KEY',
        details:
          'Run it with the settings of the party, including the old MPC_PARTY_KEY. Stop the party first; the other parties continue.\n' +
          'The certificate, the signing journal and the bans of the party do not change.',
        setting: 'MPC_PARTY_KEY',
      },
      within(partyPlace),
    ),
  ]
}

function keystorePlace(kernel: Kernel): SealedPlace {
  const { pool, config } = kernel
  const { kind, directory, key } = config.keystore
  return {
    pool,
    processes: 'signer',
    keyLiesInFile: key === null,
    finish: async () => kind === 'directory' && finishIn(directory, KEYSTORE_DIR),
    currentKey: async () => (await openKeystore(kernel)).kek,
    rotate: (rotation) =>
      kind === 'postgres'
        ? rotatePostgresKeystore(pool, rotation)
        : rotateDirectory({ ...rotation, directory, party: null }),
  }
}

function partyPlace({ pool, config, logger }: Kernel): SealedPlace {
  const party = config.mpc?.party ?? null
  if (party === null) throw new BadInput('MPC_PARTY must be set to the number of the party.')
  const { number, directory, key } = party
  return {
    pool,
    processes: `mpc-${partyName(number)}`,
    keyLiesInFile: key === null,
    finish: () => finishIn(directory, MPC_PARTY_DIR),
    currentKey: () => openPartyKek(party),
    async rotate(rotation) {
      const lock = await lockDirectory({ directory, log: logger })
      const beforeCommit = () => lock.requireHeld().then(rotation.beforeCommit)
      return rotateDirectory({ ...rotation, beforeCommit, directory, party: number }).finally(lock.release)
    },
  }
}

/**
 * A missing directory is a mistake in the settings: it must not be created and reported as sealed under the new key.
 */
async function finishIn(directory: string, setting: string): Promise<boolean> {
  if (!(await directoryExists(directory, setting)))
    throw new BadInput(
      `The directory ${directory} does not exist: run this with the settings of the process whose key is rotated.`,
    )
  return finishReplacing(directory)
}
