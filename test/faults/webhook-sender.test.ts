/** Senders that die: between the answers of a receiver and their record, and while replays, retries and new events are sent. */
import t, { type Test } from 'tap'
import { eventually } from '../support/sandbox-eventually.ts'
import { type Place, prepareVictim } from '../support/victims.ts'
import { type SenderStage, withWebhookSender } from '../support/webhook-sender-stage.ts'

/** Each ends one sender. Statements of both lines record attempts. */
const ENDS: readonly Place[] = [
  { moment: 'before', step: 'record attempts' },
  { moment: 'before', step: 'add replayed' },
  { moment: 'after', step: 'record attempts' },
  { moment: 'after', step: 'add replayed' },
  { moment: 'before', step: 'add deliveries' },
  { moment: 'before', step: 'record attempts' },
  { moment: 'after', step: 'add deliveries' },
]
const WALLETS_EACH = 4
/** Requests to one receiver at once: events as they happen, and replays. */
const AT_ONCE = 8 + 4

type Row = {
  readonly delivery_id: string
  readonly event_id: string
  readonly resource: string
  readonly replay_id: string | null
  readonly state: string
  readonly attempts: number
}

async function rowsOf({ pool }: SenderStage): Promise<readonly Row[]> {
  const { rows } = await pool.query<Row>(
    `SELECT delivery_id, event_id, replace(stream_id, 'wallet-', '') AS resource, replay_id, state, attempts FROM webhook_deliveries`,
  )
  return rows
}

/**
 * A wallet whose event was sent once, refused and recorded, by a sender that is killed then. No other delivery exists before, so that
 * every later sender finds an attempt of it.
 */
async function refusedWallet(t: Test, stage: SenderStage): Promise<string> {
  stage.receiver.answer('/', 400)
  const victim = prepareVictim('webhook-sender', { ...stage.env, LEASE_MS: '1500' })
  t.after(() => victim.kill())
  await victim.start()
  await victim.arm({ moment: 'after', step: 'record attempts' }).armed
  const wallet = await stage.wallet()
  t.ok(await victim.ended, 'killed after the first attempt was recorded')
  return wallet
}

const attemptsIn = (rows: readonly Row[]) => rows.reduce((sum, { attempts }) => sum + attempts, 0)

t.test(
  'a sender that is killed between the answers and their record is followed by one that sends the same again',
  async (t) => {
    const stage = await withWebhookSender(t)
    await stage.hook('/', { types: ['wallet.requested', 'wallet.created'] })
    const first = prepareVictim('webhook-sender', { ...stage.env, LEASE_MS: '1500' })
    t.after(() => first.kill())
    await first.start()
    await first.arm({ moment: 'before', step: 'record attempts' }).armed
    for (let n = 0; n < 4; n += 1) await stage.wallet()
    t.ok(await first.ended, 'it was killed')
    const sent = [...stage.receiver.all]
    t.ok(sent.length > 0)
    const { rows } = await stage.pool.query('SELECT FROM webhook_deliveries WHERE attempts > 0')
    t.equal(rows.length, 0, 'nothing was recorded')

    const second = prepareVictim('webhook-sender', { ...stage.env, LEASE_MS: '1500' })
    t.after(() => second.kill())
    await second.start()
    await eventually(async () => {
      const { rowCount } = await stage.pool.query(`SELECT FROM webhook_deliveries WHERE state = 'delivered'`)
      return rowCount === 8
    })
    const again = stage.receiver.all.slice(sent.length)
    t.equal(again.length, 8, 'each once by the second')
    for (const { headers, body } of sent) {
      const same = again.find((one) => one.headers['webhook-id'] === headers['webhook-id'])
      t.equal(same?.body, body, 'with the same id and the same bytes')
    }
    for (const id of new Set(again.map(({ event }) => event.resource.id)))
      t.strictSame(
        again.filter(({ event }) => event.resource.id === id).map(({ event }) => event.type),
        ['wallet.requested', 'wallet.created'],
        'in order',
      )
  },
)

t.test(
  'senders that are killed during replays, retries and new events lose none, and repeat what was not recorded',
  async (t) => {
    const stage = await withWebhookSender(t)
    const { receiver } = stage
    const { webhook_id: id } = await stage.hook('/', { types: ['wallet.created'] })
    const refused = await refusedWallet(t, stage)
    const wallets = [refused]
    receiver.answer('/', ({ event }) => (event.resource.id === refused ? 400 : 204))
    const replays: { readonly id: string; readonly wallets: readonly string[] }[] = []
    let unrecorded = 0
    for (const place of ENDS) {
      const victim = prepareVictim('webhook-sender', { ...stage.env, LEASE_MS: '1500' })
      t.after(() => victim.kill())
      await victim.start()
      await victim.arm(place).armed
      const { body } = await stage.post(`/${id}/replay`, {})
      replays.push({ id: (body.data as { readonly replay_id: string }).replay_id, wallets: [...wallets] })
      const named = (await rowsOf(stage)).find(
        (row) => row.resource === refused && row.replay_id === null && row.attempts > 0,
      )
      const { status } = await stage.post(`/${id}/deliveries/${named?.delivery_id}/retry`)
      t.equal(status, 200, 'it is retried by name')
      for (let n = 0; n < WALLETS_EACH; n += 1) wallets.push(await stage.wallet())
      t.ok(await victim.ended, `killed ${place.moment} ${place.step}`)
      unrecorded = receiver.all.length - attemptsIn(await rowsOf(stage))
    }
    t.ok(unrecorded > 0, `${receiver.all.length} arrived, and ${unrecorded} of them were not recorded`)

    receiver.answer('/', 204)
    // Ends the waits of what was refused.
    await stage.post(`/${id}/disable`)
    await stage.post(`/${id}/enable`)
    await stage.startSender()
    await eventually(async () => {
      const { rowCount: open } = await stage.pool.query('SELECT FROM webhook_replay_progress WHERE ended_at IS NULL')
      const rows = await rowsOf(stage)
      const ofNewEvents = rows.filter(({ replay_id }) => replay_id === null).length
      return open === 0 && ofNewEvents >= wallets.length && rows.every(({ state }) => state === 'delivered')
    })
    const rows = await rowsOf(stage)
    const resourcesOf = (replayId: string | null) =>
      rows
        .filter((row) => row.replay_id === replayId)
        .map(({ resource }) => resource)
        .sort()
    t.strictSame(resourcesOf(null), [...wallets].sort(), 'each new event has one delivery')
    for (const replay of replays)
      t.strictSame(
        resourcesOf(replay.id),
        [...replay.wallets].sort(),
        'a replay has each event before its request once',
      )
    for (const resource of wallets) {
      const arrived = receiver.all.filter(({ event }) => event.resource.id === resource)
      t.ok(arrived.length >= rows.filter((row) => row.resource === resource).length, 'each delivery arrived')
      t.equal(new Set(arrived.map(({ headers, body }) => `${headers['webhook-id']} ${body}`)).size, 1, 'the same bytes')
    }
    const repeated = receiver.all.length - attemptsIn(rows)
    t.comment(
      `${receiver.all.length} arrived, ${repeated} of them of ${ENDS.length} senders that had not recorded them`,
    )
    t.ok(repeated <= unrecorded + AT_ONCE, `${repeated} were repeated, ${unrecorded} were not recorded`)
  },
)

t.end()
