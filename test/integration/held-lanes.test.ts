/** Why lanes are held, recorded by signers and read by operators, on a real PostgreSQL. */
import t from 'tap'
import type { Lease } from '../../src/event-log/leases.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import type { HeldCause } from '../../src/transactions/held-cause.ts'
import { createHeldLanes, readHeld } from '../../src/transactions/held-lanes.ts'
import { loginAs } from '../support/database-login.ts'
import { newTransactionId, seedWallet, TEST_CHAIN, transferIntent, withLog } from '../support/log.ts'
import { eventually } from '../support/sandbox-eventually.ts'

t.test(
  'a held lane is recorded until it is not held, and a transaction that cannot be simulated with its lane',
  async (t) => {
    const { pool, url, log } = await withLog(t)
    await seedWallet(pool, { walletId: 'wal_1', balance: 10n ** 18n })
    const signer = await loginAs(t, { pool, url }, 'signer')
    const operator = await loginAs(t, { pool, url }, 'operator')
    const lane = { chainId: TEST_CHAIN, address: transferIntent().from }
    const read = async () => [...(await readHeld(operator, [lane])).values()].map(({ cause }) => cause)
    const errors: unknown[] = []
    const held = createHeldLanes(signer, (error) => errors.push(error))
    let causes: readonly HeldCause[] = [{ kind: 'not_walked', until: 9, next: 8, cursor: null }]
    const compare = held.comparing((onHeld) => async (_lane, _lease, waiting) => {
      for (const cause of causes) onHeld(lane, cause)
      const [first = null] = causes
      return first?.kind === 'not_walked'
        ? { held: first, unclear: [], from: 0 }
        : { held: null, unclear: first ? waiting : [], from: 0 }
    })
    const lease = {} as Lease
    await compare(lane, lease, ['tx_1'])
    t.match(await eventually(async () => (await read())[0]), { kind: 'not_walked' })
    causes = [{ kind: 'nonce_taken', hash: '0xab', nonce: 7, transactionId: 'tx_1' }]
    await compare(lane, lease, ['tx_1'])
    await eventually(async () => (await read())[0]?.kind === 'nonce_taken')
    causes = []
    await compare(lane, lease, ['tx_1'])
    t.strictSame(await read(), [])
    const transactionId = newTransactionId()
    const request = { type: 'RequestTransaction', opening: 'TransferRequested', intent: transferIntent() } as const
    await log.execute(transactionAggregate, transactionId, request, { metadata: { tenantId: 'acme', actor: 'test' } })
    held.leftAlone({ kind: 'not_simulated', transactionId, reason: 'timeout' }, 'No node answered.')
    t.match(await eventually(async () => (await read())[0]), {
      kind: 'not_simulated',
      transactionId,
      reason: 'timeout',
    })
    const api = await loginAs(t, { pool, url }, 'api')
    const { rows } = await api.query('SELECT transaction_id, reason FROM unsimulated_transactions')
    t.strictSame(rows, [{ transaction_id: transactionId, reason: 'No node answered.' }])
    t.strictSame(errors, [])
  },
)

t.end()
