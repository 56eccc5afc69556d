/** Which lanes a queue works on, and for whom. */
import type { Pool } from 'pg'
import t from 'tap'
import { createTenantsOf } from '../../src/transactions/find-lanes.ts'

const laneOf = (digit: string) => `1-0x${digit.repeat(40)}`
const HD = { id: laneOf('a'), tenant_id: 'ten_a', type: 'hd' }
const MPC = { id: laneOf('b'), tenant_id: 'ten_b', type: 'mpc' }

function stage() {
  const asked: (readonly string[])[] = []
  const rows = [HD, MPC]
  const query = async ({ values: [lanes] }: { readonly values: readonly [readonly string[]] }) => {
    asked.push(lanes)
    return { rows: rows.filter(({ id }) => lanes.includes(id)) }
  }
  return { asked, rows, pool: { query } as unknown as Pool }
}

t.test('a lane that nobody owns has no pass in any queue: a wake-up may name any', async (t) => {
  const { pool } = stage()
  const lanes = [HD.id, MPC.id, laneOf('c'), `999-${HD.id.slice(2)}`]
  const read = async (queue: 'lane' | 'mpc-lane' | 'submit') => [...(await createTenantsOf(pool, queue)(lanes))]
  t.strictSame(await read('lane'), [[HD.id, 'ten_a']])
  t.strictSame(await read('mpc-lane'), [[MPC.id, 'ten_b']])
  t.strictSame(await read('submit'), [
    [HD.id, 'ten_a'],
    [MPC.id, 'ten_b'],
  ])
})

t.test('an owner is read once, and one that is missing is asked for again', async (t) => {
  const { pool, asked, rows } = stage()
  const tenantsOf = createTenantsOf(pool, 'lane')
  await tenantsOf([HD.id, laneOf('c')])
  rows.push({ id: laneOf('c'), tenant_id: 'ten_c', type: 'hd' })
  t.equal((await tenantsOf([HD.id, laneOf('c')])).get(laneOf('c')), 'ten_c')
  t.strictSame(asked, [[HD.id, laneOf('c')], [laneOf('c')]])
})
