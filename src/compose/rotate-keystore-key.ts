/** `bursar keystore rotate-key`: the secrets of the keystore, sealed under another key. */
import type { CliCommand } from '../cli/command.ts'
import { finishIn, rotateKeyCommand, type SealedPlace } from '../key-rotation/rotate-key-command.ts'
import { rotatePostgresKeystore } from '../keys/postgres-keystore.ts'
import { rotateDirectory } from '../keys/rotate-directory.ts'
import type { Kernel } from './kernel.ts'
import { KEYSTORE_DIR, openKeystore } from './open-keystore.ts'
import { withKernel } from './run-command.ts'

export function rotateKeystoreKeyCommand(env: NodeJS.ProcessEnv): CliCommand {
  return rotateKeyCommand(
    {
      name: 'keystore rotate-key',
      summary: 're-encrypt the seeds of all tenants and the identity of the coordinator with a new KEYSTORE_KEY',
      details: 'Run it with the settings of the signers, including the old KEYSTORE_KEY. Stop all signers first.',
      setting: 'KEYSTORE_KEY',
    },
    (task) => withKernel(env, async (kernel) => task(keystorePlace(kernel))),
  )
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
