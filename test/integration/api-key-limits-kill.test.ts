/** kill -9 of an API process around the append of what an API key with a limit spends: nothing is spent twice, and nothing is lost. */
import t from 'tap'
import { createClient } from '../support/client.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { RECIPIENT, withStage } from '../support/service-stage.ts'
import { startVictimApi } from '../support/victims.ts'

const LIMIT = 3
const REQUESTS = 5

const { service, settle } = await withStage(t)
const [wallet] = await service.makeWallets(1)

for (const moment of ['before', 'after'] as const)
  t.test(`a process that is killed ${moment} the append takes each repeated request once`, async (t) => {
    const body = {
      scopes: ['wallets:read', 'transactions:read', 'transactions:write'],
      limits: [{ transactions: LIMIT, window_seconds: 86_400 }],
    }
    const made = await service.api.insist({ method: 'POST', path: '/v1/api-keys', key: `key-${moment}`, body })
    const { api_key: apiKey, key_id: keyId } = made.body.data
    const clientOf = ({ baseUrl }: { readonly baseUrl: string }) => createClient(baseUrl, apiKey)
    const pay = (n: number) => ({
      method: 'POST' as const,
      path: `/v1/wallets/${wallet?.id}/transfer`,
      key: `pay-${moment}-${n}`,
      prefer: 'respond-async',
      body: { to: RECIPIENT, amount: '0.001', asset: 'ETH' },
    })
    const requests = Array.from({ length: REQUESTS }, (_, n) => pay(n))
    const state = async () => {
      const { rows: spent } = await service.pool.query(
        'SELECT coalesce(sum(spent), 0) AS spent FROM spend_buckets WHERE counter LIKE $1',
        [`${keyId} %`],
      )
      const { rows } = await service.pool.query(
        `SELECT substr(stream_id, 13) AS id FROM events
          WHERE stream_version = 1 AND stream_id LIKE 'transaction-%' AND metadata->>'actor' = $1 ORDER BY 1`,
        [`apikey:${keyId}`],
      )
      return { spent: Number(spent[0].spent), ids: rows.map(({ id }) => id as string) }
    }

    const stage = await startVictimApi(t, service)
    await stage.victim.arm({ moment, step: 'append TransferRequested' }).armed
    const victim = clientOf(stage)
    const first = await Promise.allSettled(requests.map((request) => victim.once(request)))
    t.ok(await stage.victim.ended, 'it was killed there')
    for (const one of first)
      if (one.status === 'fulfilled') t.match(one.value, { status: 403 }, 'nothing but a refusal is answered')
    const killed = await state()
    t.equal(killed.spent, killed.ids.length, 'what is in the log counts')
    if (moment === 'before') t.equal(killed.spent, 0)
    else t.ok(killed.spent > 0 && killed.spent <= LIMIT, `${killed.spent} were accepted`)

    const [here, there] = [clientOf(service), clientOf(service)]
    const answers = await Promise.all(requests.flatMap((request) => [here.insist(request), there.insist(request)]))
    const accepted = answers.filter(({ status }) => status === 202).map(({ body: { data } }) => data.transaction_id)
    const refused = answers.filter(({ status }) => status !== 202)
    for (const { status, body } of refused) matchExactly(t, [status, body.errors?.[0]?.code], [403, 'key_limit'])
    const after = await state()
    t.equal(after.spent, LIMIT, 'the limit is taken once, and whole')
    t.strictSame([...new Set(accepted)].toSorted(), after.ids, 'each has the transaction that was accepted')
    t.equal(accepted.length, 2 * LIMIT, 'both repetitions are answered alike')
    t.ok(
      killed.ids.every((id) => accepted.includes(id)),
      'also those that were accepted before the kill',
    )
    await settle()
    t.strictSame(await state(), after, 'outcomes change nothing')
  })

t.end()
