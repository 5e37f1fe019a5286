// VS Code's own test client of the Debug Adapter Protocol, for `python -m tests.cli.record_dap`.
// node client.js PORT CONVERSATION FOLDER, with @vscode/debugadapter-testsupport in NODE_PATH
const { DebugClient } = require('@vscode/debugadapter-testsupport');
const [port, conversation, folder] = process.argv.slice(2);
const client = new DebugClient('', '', 'ptxlab');

/** A request that moves, the stop that follows it, and where that is. */
async function move(request, options = {}) {
  const stopped = client.waitForEvent('stopped', 60000);
  await client[`${request}Request`]({ threadId: 1, ...options });
  const threadId = (await stopped).body.threadId;
  return (await client.stackTraceRequest({ threadId })).body.stackFrames;
}

/** Launch a program, and run to its first stop. */
async function begin(file, options, breakpoints, filters = []) {
  await client.start(Number(port));
  const ready = client.waitForEvent('initialized', 60000);
  await client.launch({ program: `${folder}/${file}`, ...options });
  await ready;
  await client.setBreakpointsRequest({ source: { path: `${folder}/${file}` }, breakpoints });
  await client.setExceptionBreakpointsRequest({ filters });
  const stopped = client.waitForEvent('stopped', 60000);
  await client.configurationDoneRequest();
  await stopped;
  await client.threadsRequest();
}

/** Open every scope, and the first array of each from its third element on; registers, which differ, last. */
async function look(frameId) {
  const found = {};
  const { scopes } = (await client.scopesRequest({ frameId })).body;
  for (const scope of [...scopes.slice(1), scopes[0]]) {
    const reference = { variablesReference: scope.variablesReference };
    found[scope.name] = (await client.variablesRequest(reference)).body.variables;
    const array = found[scope.name].find((row) => row.indexedVariables);
    if (array) {
      found[array.name] = array.variablesReference;
      await client.variablesRequest({
        variablesReference: array.variablesReference, filter: 'indexed', start: 2, count: 3,
      });
    }
  }
  return found;
}

const conversations = {
  async rounds() {
    const arguments_ = ['range:f4:64', 'zeros:i4:1'];
    await begin('rounds.cu', { block: 64, arguments: arguments_, stopOnEntry: true }, [
      { line: 10 }, { line: 15, condition: 'x[0] == 0 and session.position > 40' }, { line: 15, condition: '1 +' },
      { line: 400 },
    ], ['hazard']);
    await move('continue');
    let [frame] = await move('next');
    const found = await look(frame.id);
    const element = { variablesReference: found.x, name: '[5]' };
    const { dataId } = (await client.dataBreakpointInfoRequest(element)).body;
    await client.evaluateRequest({ expression: 'x[:4]', frameId: frame.id, context: 'watch' });
    await client.evaluateRequest({ expression: 'nothing', frameId: frame.id, context: 'hover' }).catch(() => 0);
    await move('continue');
    await move('stepIn');
    await move('stepOut');
    await move('stepBack');
    await move('stepBack', { granularity: 'instruction' });
    await move('reverseContinue');
    await client.setBreakpointsRequest({ source: { path: `${folder}/rounds.cu` }, breakpoints: [{ line: 6 }] });
    await client.setDataBreakpointsRequest({ breakpoints: [{ dataId }, { dataId: 'none' }] });
    await move('continue');
    await move('continue');
    await client.evaluateRequest({ expression: "session.who_wrote('1', 5).opcode", context: 'repl' });
    await move('continue');
    const ended = client.waitForEvent('terminated', 60000);
    await client.continueRequest({ threadId: 1 });
    await ended;
  },
  async race() {
    await begin('hang.cu', { kernel: 'race', block: [96, 1, 1], arguments: ['range:i4:96'] }, [], ['hazard']);
    await client.exceptionInfoRequest({ threadId: 1 });
    await move('reverseContinue');
  },
  async hang() {
    await begin('hang.cu', { kernel: 'hang', block: 96, arguments: ['range:i4:96'] }, [{ line: 7 }], ['hazard']);
    await move('continue');
    await client.threadsRequest();
    await client.exceptionInfoRequest({ threadId: 1 });
    await move('stepBack');
  },
  async script() {
    await begin('script.py', { kernel: 'scale' }, [{ line: 16 }]);
    const [frame] = await move('next');
    await look(frame.id);
    await move('stepBack');
  },
};

(async () => {
  await conversations[conversation]();
  await client.disconnectRequest({});
  process.exit(0);
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
