/** The framework of `npm run bursar`: arguments in; text or JSON, one-line errors, and exit codes out. */
import t from 'tap'
import { BadInput, type CliCommand, type CliInput } from '../../src/cli/command.ts'
import { NotFound, Unavailable } from '../../src/core/errors.ts'
import { runCommandLine } from '../support/cli.ts'

const heard: CliInput[] = []
const COMMANDS: readonly CliCommand[] = [
  {
    name: 'count',
    summary: 'counts things',
    details: 'Reads only.',
    arguments: [
      { name: '<thing>', description: 'what is counted' },
      { name: '[other]', description: 'what else' },
    ],
    options: [
      { flags: '--to <position|time>', description: 'until when' },
      { flags: '--dry-run', description: 'only look' },
    ],
    async run(input, io) {
      heard.push(input)
      io.note('counted')
      io.print({ count: 2 }, io.table(['thing', 'count'], [['a longer thing', '2']]))
      return 1
    },
  },
  { name: 'audit verify', summary: 'verifies', run: async () => 0 },
  ...Object.entries({
    misfit: new BadInput('--to must be a position or a time:\n such as 12'),
    absent: new NotFound('transaction'),
    away: new Unavailable('database_unavailable', 'The database does not answer.'),
    unread: Object.assign(new Error('ENOENT: no such file, open x'), { code: 'ENOENT', syscall: 'open', path: 'x' }),
    deaf: Object.assign(new Error('connect ENOENT /tmp/x'), { code: 'ENOENT', syscall: 'connect', address: '/tmp/x' }),
    cut: Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
    defect: new TypeError('a defect'),
  }).map(([name, error]) => ({ name, summary: 'fails', run: () => Promise.reject(error) })),
]
const run = (line: string) => runCommandLine(COMMANDS, line)

t.test('a command gets its arguments and options, and its code is the exit code', async (t) => {
  t.strictSame(await run('count coins --to 12 --dry-run'), {
    code: 1,
    out: 'thing           count\na longer thing  2\n',
    err: 'counted\n',
  })
  t.strictSame(heard.at(-1), { arguments: ['coins', undefined], options: { to: '12', dryRun: true } })
})

t.test('with --json standard output is one line of JSON', async (t) => {
  t.strictSame(await run('count coins --json'), { code: 1, out: '{"count":2}\n', err: 'counted\n' })
})

t.test('two words name a command of a group', async (t) => {
  t.equal((await run('audit verify')).code, 0)
})

t.test('help is told on standard output, with the exit codes, and is no failure', async (t) => {
  const all = await run('--help')
  t.equal(all.code, 0)
  t.match(all.out, /count .*counts things/)
  t.match(all.out, /Exit codes: 0/)
  const one = await run('count --help')
  t.match(one.out, /--to <position\|time> +until when/)
  t.match(one.out, /Reads only\./)
})

for (const [line, expected] of [
  ['cuont coins', /unknown command 'cuont'/],
  ['count', /missing required argument 'thing'/],
  ['count a b c', /too many arguments/],
  ['count a --too 3', /unknown option '--too'/],
  ['count a --to', /argument missing/],
] as const) {
  t.test(`${line}: wrong usage is told and ends with 2`, async (t) => {
    const { code, out, err } = await run(line)
    t.equal(code, 2)
    t.equal(out, '')
    t.match(err, expected)
  })
}

for (const [name, code, line] of [
  ['misfit', 2, '--to must be a position or a time: such as 12\n'],
  ['absent', 2, 'No such transaction.\n'],
  ['away', 3, 'The database does not answer.\n'],
  ['unread', 1, 'ENOENT: no such file, open x\n'],
  ['deaf', 3, 'connect ENOENT /tmp/x\n'],
  ['cut', 3, 'connect ECONNREFUSED\n'],
] as const) {
  t.test(`${name}: what is wrong is one line, and the exit code says of what kind it is`, async (t) => {
    t.strictSame(await run(name), { code, out: '', err: line })
  })
}

t.test('a defect of ours is not dressed up as anything else', async (t) => {
  await t.rejects(run('defect'), new TypeError('a defect'))
})
