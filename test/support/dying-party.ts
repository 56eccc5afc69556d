/**
 * A party process that kills itself instead of sending its first message of a given kind and round: `node
 * dying-party.ts '{"kind":4,"round":2}'`. Otherwise it is the production process.
 */
import { startMpcParty } from '../../src/compose/mpc-party.ts'
import { runProcess } from '../../src/compose/run-process.ts'
import { openChannel } from '../../src/keys/mpc/channel/open-channel.ts'
import { nameOfHandle } from '../../src/keys/mpc/channel/shared-handle.ts'
import { readMessage } from '../../src/keys/mpc/message.ts'
import { partyName } from '../../src/keys/mpc/party-names.ts'

const { kind, round } = JSON.parse(process.argv[2] ?? '{}') as { readonly kind: number; readonly round: number }
const number = Number(process.env.MPC_PARTY)
const me = partyName(number)

const openDyingChannel: typeof openChannel = async (options) => {
  const channel = await openChannel(options)
  return {
    ...channel,
    send(to, frame) {
      const message = readMessage(frame, me, nameOfHandle(to))
      if (!('refused' in message) && message.kind === kind && message.round === round) {
        process.kill(process.pid, 'SIGKILL')
      }
      channel.send(to, frame)
    },
  }
}

await runProcess(
  `mpc-party-${number}`,
  (kernel, signal) => startMpcParty(kernel, signal, openDyingChannel),
  process.env,
)
