/** A program without an audit imports nothing that an operator has evidence for: it could not check it. */
import t from 'tap'
import { importCommand } from '../../src/replay/import-command.ts'
import { runCommandLine } from '../support/cli.ts'

t.test('import refuses evidence that no capability opens', async (t) => {
  // Without a database: it is refused before.
  const command = importCommand((task) => task({} as never), null)
  const ran = await runCommandLine([command], 'import - --checkpoints checkpoints --key key.pub')
  t.match(ran, { code: 2, out: '', err: /^--checkpoints: this program has no audit/ })
})
