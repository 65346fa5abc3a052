"""Functions for cells that look at files: those of OpenHands' agent_skills that need no further packages."""

from __future__ import annotations

import os

__all__ = ['open_file', 'goto_line', 'scroll_down', 'scroll_up', 'search_dir', 'search_file', 'find_file']

_WINDOW = 100  # lines
_path = None  # of the open file
_line = 1  # that the window is at


def _lines(path):
    with open(path, errors='replace') as file:
        return file.read().splitlines() or ['']


def _error(why):
    print(f'ERROR: {why}')


def _show(lines, window, start):
    """Prints the window that begins at a line, or has it in its middle if start is not set."""
    half = max(1, window // 2)
    first, last = (_line, _line + window) if start else (_line - half, _line + half)
    first, last = max(1, first), min(len(lines), last)
    if first == 1:
        last = min(len(lines), window)
    if last == len(lines):
        first = max(1, last - window + 1)
    print(f'[File: {_path} ({len(lines)} lines total)]')
    print(f'({first - 1} more lines above)' if first > 1 else '(this is the beginning of the file)')
    for n in range(first, last + 1):
        print(f'{n}|{lines[n - 1]}')
    print(f'({len(lines) - last} more lines below)' if last < len(lines) else '(this is the end of the file)')
    return last < len(lines)


def _opened():
    if _path and os.path.isfile(_path):
        return _lines(_path)
    return _error('No file open. Use the open_file function first.')


def _move(lines, to, start):
    global _line
    _line = max(1, min(to, len(lines)))
    return _show(lines, _WINDOW, start)


def open_file(path: str, line_number: int | None = 1, context_lines: int | None = _WINDOW) -> None:
    """Opens a file and prints at most context_lines (100 at most) lines around a line."""
    global _path, _line
    if not os.path.isfile(path):
        return _error(f'File {path} not found.')
    _path = os.path.abspath(path)
    lines = _lines(_path)
    if not isinstance(line_number, int) or not 1 <= line_number <= len(lines):
        return _error(f'Line number must be between 1 and {len(lines)}')
    _line = line_number
    if _show(lines, min(context_lines, _WINDOW) if context_lines and context_lines > 0 else _WINDOW, False):
        print('[Use `scroll_down` to view the next 100 lines of the file!]')


def goto_line(line_number: int) -> None:
    """Prints the lines around a line of the open file."""
    if lines := _opened():
        if not isinstance(line_number, int) or not 1 <= line_number <= len(lines):
            return _error(f'Line number must be between 1 and {len(lines)}.')
        _move(lines, line_number, False)


def scroll_down() -> None:
    """Prints the next 100 lines of the open file."""
    if lines := _opened():
        _move(lines, _line + _WINDOW, True)


def scroll_up() -> None:
    """Prints the 100 lines of the open file before."""
    if lines := _opened():
        _move(lines, _line - _WINDOW, True)


def search_dir(search_term: str, dir_path: str = './') -> None:
    """Prints the lines of all files in a directory that have a text."""
    if not os.path.isdir(dir_path):
        return _error(f'Directory {dir_path} not found')
    matches, unread = [], 0
    for root, _, names in os.walk(dir_path):
        for path in (os.path.join(root, name) for name in names if not name.startswith('.')):
            if not os.path.isfile(path):  # a pipe would never end
                continue
            try:
                matches += [(path, n, line.strip()) for n, line in enumerate(_lines(path), 1) if search_term in line]
            except OSError:
                unread += 1
    if unread:
        print(f'[{unread} files could not be read]')
    files = len({path for path, _, _ in matches})
    if files > 100:
        print(f'More than {files} files matched for "{search_term}" in {dir_path}. Please narrow your search.')
    elif matches:
        print(f'[Found {len(matches)} matches for "{search_term}" in {dir_path}]')
        for path, n, line in matches:
            print(f'{path} (Line {n}): {line}')
        print(f'[End of matches for "{search_term}" in {dir_path}]')
    else:
        print(f'No matches found for "{search_term}" in {dir_path}')


def search_file(search_term: str, file_path: str | None = None) -> None:
    """Prints the lines of a file, or of the open one, that have a text."""
    path = file_path or _path
    if not path:
        return _error('No file specified or open. Use the open_file function first.')
    if not os.path.isfile(path):
        return _error(f'File {path} not found.')
    _found([f'Line {n}: {line.strip()}' for n, line in enumerate(_lines(path), 1) if search_term in line], search_term, path)


def find_file(file_name: str, dir_path: str = './') -> None:
    """Prints the paths of the files in a directory whose names have a text."""
    if not os.path.isdir(dir_path):
        return _error(f'Directory {dir_path} not found')
    _found([os.path.join(root, name) for root, _, names in os.walk(dir_path) for name in names if file_name in name], file_name, dir_path)


def _found(matches, what, where):
    if matches:
        print(f'[Found {len(matches)} matches for "{what}" in {where}]')
        print(*matches, sep='\n')
        print(f'[End of matches for "{what}" in {where}]')
    else:
        print(f'[No matches found for "{what}" in {where}]')
