/** The exchange of messages between parties: a round waits for all its senders, except those that are gone. */
import t from 'tap'
import { encodeMessage, readMessage } from '../../src/keys/mpc/message.ts'
import { partyName } from '../../src/keys/mpc/party-names.ts'
import { KIND } from '../../src/keys/mpc/protocol.ts'
import { createRoundTables } from '../../src/keys/mpc/round-table.ts'

const SESSION = '00112233445566778899aabbccddeeff'
const ME = 3
/** Long enough for a test's actions; a party missing only then was awaited unnecessarily. */
const ROUND_MS = 2_000

/** Party 3, to which 1 and 2 send in each of two rounds. @param parties connected ones */
function sitDown(parties = [1, 2]) {
  const connected = new Set(parties.map(partyName))
  const tables = createRoundTables({
    me: ME,
    kind: KIND.ceremonyRound,
    channel: { send: () => undefined, connected: () => [...connected] },
    roundMs: ROUND_MS,
    onRefused: (_, reason) => t.fail(reason),
  })
  const table = tables.open(SESSION, [
    [1, 2],
    [1, 2],
  ])
  if (table === undefined) throw new Error('the session was open before')
  return {
    table,
    says(party: number, round: number) {
      const address = { sender: partyName(party), receiver: partyName(ME), sequence: round - 1 }
      const payload = new Uint8Array([party, round])
      const frame = encodeMessage({ session: SESSION, kind: KIND.ceremonyRound, round, ...address, payload })
      const message = readMessage(frame, address.sender, address.receiver)
      if ('refused' in message) throw new Error(message.refused)
      tables.receive(message)
    },
    comes(party: number) {
      connected.add(partyName(party))
      tables.here()
    },
    goes(party: number) {
      connected.delete(partyName(party))
      tables.gone(party)
    },
  }
}

t.test('a round is over when all parties have sent their messages', async (t) => {
  const { table, says } = sitDown()
  const first = table.gather(1)
  says(2, 1)
  says(1, 1)
  const heard = [...(await first)].map(([party, payload]) => [party, ...payload])
  t.strictSame(
    new Set(heard),
    new Set([
      [1, 1, 1],
      [2, 2, 1],
    ]),
  )
})

for (const party of [1, 2]) {
  t.test(`a round reports party ${party} at once when it disconnects before any message`, async (t) => {
    const { table, goes } = sitDown()
    const gathered = table.gather(1)
    goes(party)
    await t.rejects(gathered, { name: 'Stalled', party, message: 'its connection ended' })
  })

  t.test(`a round reports party ${party} at once when it was disconnected before`, async (t) => {
    const { table, says, goes } = sitDown()
    says(1, 1)
    says(2, 1)
    await table.gather(1)
    goes(party)
    await t.rejects(table.gather(2), { name: 'Stalled', party, message: 'its connection ended' })
  })

  t.test(`a round does not wait for party ${party} when it reconnects, since its messages are lost`, async (t) => {
    const { table, goes, comes } = sitDown()
    goes(party)
    comes(party)
    await t.rejects(table.gather(1), { name: 'Stalled', party, message: 'its connection ended' })
  })

  t.test(`a session starts when all are connected, with party ${party} a moment late`, async (t) => {
    const { table, goes, comes } = sitDown()
    await table.seated([1, 2])
    goes(party)
    const seated = table.seated([1, 2]).then(() => true)
    const soon = new Promise((resolve) => setImmediate(resolve, false))
    t.equal(await Promise.race([seated, soon]), false)
    comes(party)
    t.equal(await seated, true)
  })

  t.test(`a round goes on when party ${party} disconnects after its message`, async (t) => {
    const { table, says, goes } = sitDown()
    const gathered = table.gather(1)
    says(party, 1)
    goes(party)
    says(3 - party, 1)
    t.equal((await gathered).size, 2)
  })
}

t.test('a session waits a moment for a party that never connects', async (t) => {
  const { table } = sitDown([1])
  await table.seated([1, 2])
  await t.rejects(table.gather(1), { name: 'Stalled', party: 2, message: 'it is not connected' })
})

t.test('a connected party that sends nothing is reported at the deadline of the round', async (t) => {
  const { table, says } = sitDown()
  const gathered = table.gather(1)
  says(1, 1)
  await t.rejects(gathered, { name: 'Stalled', party: 2, message: `it sent nothing for ${ROUND_MS} ms` })
})
