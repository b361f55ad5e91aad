// The editor of plans: CodeMirror with completion from the schema and the errors of the check. It is in a shadow root,
// which adopts its styles as objects, because the page's policy forbids style elements.

import { autocompletion, completionKeymap, type CompletionContext, type CompletionResult } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { HighlightStyle, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { lintGutter, setDiagnostics, type Diagnostic } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import { drawSelection, EditorView, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import type { Checked } from './api';

/** A JSON Schema. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Schema = any;

const look = EditorView.theme({
  '&': { fontSize: '12px', height: '100%', color: 'var(--ink)', backgroundColor: 'var(--panel)' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '20px' },
  '.cm-gutters': { backgroundColor: 'var(--sunk)', color: 'var(--ink-3)', border: '0' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '&.cm-focused': { outline: '2px solid var(--focus)' },
  '.cm-selectionBackground, &.cm-focused .cm-selectionBackground': { backgroundColor: 'var(--select) !important' },
  '.cm-tooltip': { backgroundColor: 'var(--panel)', color: 'var(--ink)', border: '1px solid var(--line)' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--paper)' },
  '.cm-completionInfo': { maxWidth: '320px', fontFamily: 'var(--sans)' },
});

const colors = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent)' },
  { tag: [tags.string, tags.content], color: 'var(--ink)' },
  { tag: [tags.number, tags.bool], color: 'var(--p99)' },
  { tag: tags.comment, color: 'var(--ink-3)', fontStyle: 'italic' },
]);

function resolved(schema: Schema, of: Schema): Schema {
  const path = typeof of?.$ref === 'string' ? (of.$ref as string).replace(/^#\//, '').split('/') : null;
  return path ? path.reduce((at: Schema, part) => at?.[part], schema) : of;
}

/** Returns all properties that an object of this schema may have, including those of its alternatives and items. */
function properties(schema: Schema, of: Schema, depth = 0): Record<string, Schema> {
  const here = resolved(schema, of);
  if (!here || depth > 6) return {};
  const all: Record<string, Schema> = {};
  for (const part of [...(here.anyOf ?? []), ...(here.oneOf ?? []), ...(here.allOf ?? []), ...(here.items ? [here.items] : [])]) {
    Object.assign(all, properties(schema, part, depth + 1));
  }
  return { ...all, ...(here.properties ?? {}) };
}

/** Returns the keys that enclose a line, by indentation. */
function keysAbove(state: EditorState, line: number, indent: number): string[] {
  const keys: string[] = [];
  let within = indent;
  for (let n = line - 1; n >= 1 && within > 0; n--) {
    const found = /^(\s*(?:- +)*)([\w.-]+):/.exec(state.doc.line(n).text);
    if (found && found[1].length < within) {
      keys.unshift(found[2]);
      within = found[1].search(/[^ ]|$/);
    }
  }
  return keys;
}

const completion = (schema: () => Schema) => (context: CompletionContext): CompletionResult | null => {
  const line = context.state.doc.lineAt(context.pos);
  const before = line.text.slice(0, context.pos - line.from);
  const found = /^(\s*(?:- +)*)([\w.-]*)$/.exec(before);
  if (!found || (!found[2] && !context.explicit)) return null;
  const whole = schema();
  const above = keysAbove(context.state, line.number, found[1].length);
  const at = above.reduce((of: Schema, key) => properties(whole, of)[key], whole);
  const options = Object.entries(properties(whole, at)).map(([label, of]) => ({
    label, apply: `${label}: `, type: 'property', info: (resolved(whole, of)?.description ?? of?.description) as string | undefined,
  }));
  return options.length ? { from: context.pos - found[2].length, options, validFor: /^[\w.-]*$/ } : null;
};

export interface Editor {
  text: () => string;
  write: (text: string) => void;
  complain: (checked: Checked | null) => void;
  end: () => void;
}

/** Creates an editor in this element. */
export function editor(holder: HTMLElement, text: string, label: string, schema: () => Schema, changed: (text: string) => void): Editor {
  const root = holder.attachShadow({ mode: 'open' });
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(), lintGutter(), history(), drawSelection(), yaml(), indentUnit.of('  '), look, syntaxHighlighting(colors),
        autocompletion({ override: [completion(schema)] }), EditorView.lineWrapping,
        keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap]),
        EditorView.contentAttributes.of({ 'aria-label': label }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) changed(update.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    write: (now) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: now } }),
    complain(checked) {
      const all: Diagnostic[] = [];
      if (checked && !checked.ok && checked.line) {
        // A missing key may be reported after the last line.
        const { from, to } = view.state.doc.line(Math.min(checked.line, view.state.doc.lines));
        all.push({ from: Math.min(from + (checked.column ?? 1) - 1, to), to, severity: 'error', message: checked.trouble ?? '' });
      }
      view.dispatch(setDiagnostics(view.state, all));
    },
    end: () => view.destroy(),
  };
}
