/** What operators have for joint keys: `mpc rotate-key`, which seals the secrets of a party under another key. */
import { BadInput } from '../cli/command.ts'
import { finishIn, rotateKeyCommand, type SealedPlace } from '../key-rotation/rotate-key-command.ts'
import { lockDirectory } from '../keys/mpc/directory-lock.ts'
import { partyName } from '../keys/mpc/party-names.ts'
import { rotateDirectory } from '../keys/rotate-directory.ts'
import type { CommandContext, InHelp, Opens } from '../operator/for-operators.ts'
import { MPC_PARTY_DIR, openPartyKek } from './identities.ts'

export function commands({ within }: Opens): readonly InHelp[] {
  const command = rotateKeyCommand(
    {
      name: 'mpc rotate-key',
      summary: 're-encrypt the shares and the identity of an mpc party with a new MPC_PARTY_KEY',
      details:
        'Run it with the settings of the party, including the old MPC_PARTY_KEY. Stop the party first; the other parties continue.\n' +
        'The certificate, the signing journal and the bans of the party do not change.',
      setting: 'MPC_PARTY_KEY',
    },
    (task) => within(async (ctx) => task(partyPlace(ctx))),
  )
  return [{ place: 110, command }]
}

function partyPlace({ pool, config, logger }: CommandContext): SealedPlace {
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
