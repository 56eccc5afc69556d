/** SQL names a table in the folder that owns it. Other folders use what the owner exports in its `sql.ts`. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { TABLE_OWNERS } from '../../src/declarations.ts'

const OWNERS: ReadonlyMap<string, string> = new Map(Object.entries(TABLE_OWNERS))
const SRC = fileURLToPath(new URL('../../src', import.meta.url))

/** The owner stands where these may not import it: .dependency-cruiser.mjs. */
const LAYERS = {
  operator: 'shows an operator the state of every capability',
  facts: 'reads single facts of another capability in a statement of its own',
  joined: 'one statement of a hot path joins both tables',
}

/** What is left, by folder and table, with the reason. This list only gets shorter. */
const ALLOWED: Readonly<Record<string, string>> = {
  'assets prices': LAYERS.facts,
  'assets unread_tokens': LAYERS.facts,
  'audit events': 'verifies the events as they are stored',
  'balances assets': LAYERS.joined,
  'balances chain_cursors': LAYERS.facts,
  'compose event_rules': 'writes what follows from the declarations of all capabilities',
  'compose checkpoints': 'writes what follows from the roles of all processes',
  'compose process_logins': 'writes what follows from the roles of all processes',
  'compose role_rights': 'writes what follows from the declarations of all capabilities',
  'operator api_keys': LAYERS.operator,
  'operator assets': LAYERS.operator,
  'operator chain_cursors': LAYERS.operator,
  'operator chain_stalls': LAYERS.operator,
  'operator mpc_keys': LAYERS.operator,
  'operator unread_tokens': LAYERS.operator,
  'transactions balances': LAYERS.joined,
  'transactions chain_cursors': LAYERS.joined,
  'wallets mpc_keys': LAYERS.facts,
}

function readPairs(): ReadonlyMap<string, string> {
  const pairs = new Map<string, string>()
  for (const file of readdirSync(SRC, { recursive: true, encoding: 'utf8' })) {
    const folder = file.split('/')[0] ?? ''
    if (!file.endsWith('.ts') || folder === 'generated') continue
    const source = readFileSync(join(SRC, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, '')
    for (const [, table = ''] of source.matchAll(/\b(?:FROM|JOIN|INTO|UPDATE|TABLE)\s+(?:ONLY\s+)?"?(\w+)/g)) {
      const owner = OWNERS.get(table)
      if (owner !== undefined && owner !== folder) pairs.set(`${folder} ${table}`, file)
    }
  }
  return pairs
}

t.test('SQL names a table of another folder only where that is listed with its reason', (t) => {
  const pairs = readPairs()
  for (const [pair, file] of pairs)
    t.ok(
      pair in ALLOWED,
      `${pair}: src/${file} takes it from sql.ts of ${TABLE_OWNERS[pair.split(' ')[1] as 'events']}`,
    )
  for (const pair of Object.keys(ALLOWED)) t.ok(pairs.has(pair), `${pair} is still needed in the list`)
  t.end()
})
