/** The commands that change a key-encryption key, each with the secrets it seals. */
import { access } from 'node:fs/promises'
import { BadInput, type CliCommand, type Within } from '../cli/command.ts'
import { rotateKeyCommand, type SealedPlace } from '../key-rotation/rotate-key-command.ts'
import { partyName } from '../keys/mpc/party-names.ts'
import { rotatePostgresKeystore } from '../keys/postgres-keystore.ts'
import { finishReplacing } from '../keys/replace-files.ts'
import { rotateDirectory } from '../keys/rotate-directory.ts'
import type { Kernel } from './kernel.ts'
import { openPartyKek } from './mpc-identity.ts'
import { openKeystore } from './open-keystore.ts'
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
        summary: "seal the tenants' seeds and the coordinator's identity under another KEYSTORE_KEY",
        details:
          'Run it with the settings of the signers, and with KEYSTORE_KEY as it was until now. Stop all signers first.',
        setting: 'KEYSTORE_KEY',
      },
      within(keystorePlace),
    ),
    rotateKeyCommand(
      {
        name: 'mpc rotate-key',
        summary: 'seal the shares and the identity of one mpc party under another MPC_PARTY_KEY',
        details:
          'Run it with the settings of that party, and with MPC_PARTY_KEY as it was until now. Stop the party first: the others go on.\n' +
          'Its certificate, its signing journal and its bans stay as they are.',
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
    finish: async () => kind === 'directory' && finishIn(directory),
    currentKey: async () => (await openKeystore(kernel)).kek,
    rotate: (rotation) =>
      kind === 'postgres'
        ? rotatePostgresKeystore(pool, rotation)
        : rotateDirectory({ ...rotation, directory, party: null }),
  }
}

function partyPlace({ pool, config }: Kernel): SealedPlace {
  const party = config.mpc?.party ?? null
  if (party === null) throw new BadInput('MPC_PARTY must be set, to the number of the party whose key changes.')
  const { number, directory, key } = party
  return {
    pool,
    processes: `mpc-${partyName(number)}`,
    keyLiesInFile: key === null,
    finish: () => finishIn(directory),
    currentKey: () => openPartyKek(party),
    rotate: (rotation) => rotateDirectory({ ...rotation, directory, party: number }),
  }
}

/**
 * A missing directory is a mistake in the settings: it must not be created and reported as sealed under the new key.
 */
async function finishIn(directory: string): Promise<boolean> {
  await access(directory).catch(() => {
    throw new BadInput(
      `There is no directory ${directory}: run this with the settings of the process whose key changes.`,
    )
  })
  return finishReplacing(directory)
}
