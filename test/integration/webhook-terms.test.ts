/** After a change of a webhook is answered, nothing is sent by its old terms. */
import t from 'tap'
import type { Answer } from '../support/http.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { isSignedWith } from '../support/webhook-receiver.ts'
import { type SenderStage, withWebhookSender } from '../support/webhook-sender-stage.ts'

type Changing = (stage: SenderStage, id: string) => Promise<Answer>

/** So many deliveries are added at once, and more as soon as fewer are left than a sender reads in a round. */
const ADDED = 1_000
const FEWEST_LEFT = 300

/** The sender gives its leases back when it has nothing to send any more. */
function untilReleased({ pool }: SenderStage, id: string) {
  return eventually(async () => {
    const { rows } = await pool.query(`SELECT FROM leases WHERE name LIKE $1 AND expires_at > clock_timestamp()`, [
      `webhook-${id}%`,
    ])
    return rows.length === 0
  })
}

/** Changes a webhook while deliveries wait that never run out before the answer. @returns what was sent after it */
async function sentAfter(stage: SenderStage, change: Changing) {
  const { webhook_id: id, secret } = await stage.hook('/old')
  let answer: Answer | undefined
  let atAnswer = 0
  let isAsked = false
  let added = ADDED
  stage.receiver.answer('/old', async () => {
    if (answer === undefined && added - stage.receiver.all.length < FEWEST_LEFT) {
      added += ADDED
      await stage.addDeliveries(id, ADDED, { first: added - ADDED + 1 })
    }
    if (stage.receiver.all.length >= 20 && !isAsked) {
      isAsked = true
      void change(stage, id).then((given) => {
        atAnswer = stage.receiver.all.length
        answer = given
      })
    }
    return 204
  })
  await stage.addDeliveries(id, ADDED)
  await stage.startSender()
  const { status } = await eventually(() => answer)
  await untilReleased(stage, id)
  return { status, id, secret, before: atAnswer, waited: added - atAnswer, after: stage.receiver.all.slice(atAnswer) }
}

const ENDS: Readonly<Record<string, Changing>> = {
  deleted: (stage, id) => stage.remove(`/${id}`),
  disabled: (stage, id) => stage.post(`/${id}/disable`),
  'sent elsewhere': (stage, id) => {
    stage.receiver.answer('/new', 204)
    return stage.patch(`/${id}`, { url: stage.receiver.urlOf('/new') })
  },
}

for (const [name, change] of Object.entries(ENDS))
  t.test(`after a webhook is ${name}, and that is answered, no delivery begins by its old terms`, async (t) => {
    const stage = await withWebhookSender(t)
    const { status, before, waited, after } = await sentAfter(stage, change)
    t.equal(status, 200)
    t.ok(before >= 20 && waited > 0, `${before} before the answer, ${waited} waited then`)
    t.strictSame(after.filter(({ path }) => path === '/old').length, 0)
  })

t.test('after a secret is replaced without an overlap, no delivery is signed with it', async (t) => {
  const stage = await withWebhookSender(t)
  const { status, secret, before, after } = await sentAfter(stage, async ({ post, receiver }, id) => {
    const answer = await post(`/${id}/rotate-secret`, { overlap_hours: 0 })
    receiver.verifyWith('/old', (answer.body.data as { readonly secret: string }).secret)
    return answer
  })
  t.equal(status, 200)
  t.strictSame(
    after.filter(({ body, headers }) => isSignedWith(secret, body, headers)),
    [],
  )
  await stage.receiver.until((all) => all.length > before + after.length)
  t.notOk(isSignedWith(secret, stage.receiver.all.at(-1)?.body ?? '', stage.receiver.all.at(-1)?.headers ?? {}))
})

t.test('an answer of the old URL does not disable a webhook that is sent elsewhere', async (t) => {
  const stage = await withWebhookSender(t)
  const { receiver } = stage
  const { webhook_id: id, secret } = await stage.hook('/old')
  receiver.verifyWith('/new', secret)
  let answer: (status: number) => void = () => undefined
  const later = new Promise<number>((resolve) => {
    answer = resolve
  })
  receiver.answer('/old', () => later)
  await stage.addDeliveries(id, 1)
  await stage.startSender()
  await receiver.until((all) => all.length === 1)
  t.equal((await stage.patch(`/${id}`, { url: receiver.urlOf('/new') })).status, 200)
  answer(410)
  await eventually(async () => (await stage.pool.query('SELECT FROM webhook_deliveries WHERE attempts > 0')).rowCount)
  await untilReleased(stage, id)
  t.match((await stage.get(`/${id}`)).body.data, { status: 'enabled', disabled_reason: null })
  await receiver.until((all) => all.some(({ path }) => path === '/new'))
})
