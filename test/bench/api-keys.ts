/** API keys: what a request with a key costs beside one without, and pages of a tenant that has many keys. */
import pg from 'pg'
import { insertApiKeys } from '../support/many-rows.ts'
import { cpuBetween, readCpuTimes } from './cpu-clock.ts'
import { runLoad } from './load.ts'
import type { Figure } from './report.ts'
import { authHeaders, call, type Subject } from './subject.ts'

const KEYS = 100_000
const PAGE = 100
const REQUESTS = 5_000
const WARM_UP = 1_000
const CONNECTIONS = 16
const PAGE_LIMIT_MS = 50

type Page = { readonly next_cursor: string | null }

export async function benchApiKeys(subject: Subject): Promise<Figure[]> {
  const requests = await costOfKey(subject)
  const pool = new pg.Pool({ connectionString: subject.service.state().database_url, max: 1 })
  try {
    await insertApiKeys(pool, { count: KEYS, tenant: 'demo' })
    await pool.query('ANALYZE api_keys')
  } finally {
    await pool.end()
  }
  return [...requests, await readPages(subject)]
}

/** CPU of the API process, of a request with a key and of one without. */
async function costOfKey(subject: Subject): Promise<Figure[]> {
  const { base_url: url } = subject.service.state()
  const cost = async (path: string) => {
    const load = {
      url: `${url}${path}`,
      method: 'GET',
      headers: authHeaders(subject),
      connections: CONNECTIONS,
    } as const
    await runLoad({ ...load, amount: WARM_UP })
    const before = readCpuTimes(subject.service)
    await runLoad({ ...load, amount: REQUESTS })
    return (cpuBetween(before, readCpuTimes(subject.service)).get('api') ?? 0) / REQUESTS
  }
  return [
    {
      bench: 'GET /v1/me',
      unit: 'ms CPU of the API',
      ours: await cost('/v1/me'),
      ceiling: await cost('/healthz'),
      ceilingIs: 'GET /healthz, which needs no key and reads no row',
    },
  ]
}

/** All pages of a tenant, one after the other. */
async function readPages(subject: Subject): Promise<Figure> {
  const before = readCpuTimes(subject.service)
  const times: number[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const startedMs = performance.now()
    const path: string = `/v1/api-keys?limit=${PAGE}${cursor === '' ? '' : `&cursor=${cursor}`}`
    cursor = (await call<Page>(subject, 'GET', path)).next_cursor
    times.push(performance.now() - startedMs)
  }
  const used = cpuBetween(before, readCpuTimes(subject.service))
  times.sort((one, other) => one - other)
  const at = (share: number) => times[Math.floor(share * (times.length - 1))] ?? 0
  const perPage = (name: string) => ((used.get(name) ?? 0) / times.length).toFixed(1)
  return {
    bench: `a page of ${PAGE} of ${KEYS.toLocaleString('en-US')} API keys`,
    unit: 'ms',
    ours: at(0.5),
    ceiling: PAGE_LIMIT_MS,
    ceilingIs: 'the most it may take',
    isLimit: true,
    note: `p50 of ${times.length} pages, p99 ${at(0.99).toFixed(1)} ms; CPU: API ${perPage('api')} ms, PostgreSQL ${perPage('postgres')} ms`,
  }
}
