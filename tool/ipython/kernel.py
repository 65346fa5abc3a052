# Deft runs this in a kernel before the first cell. The module deft_kernel bounds what a cell shows,
# so that no message is larger than the sandbox's program can take, and lends secrets to a cell.
def _deft_kernel(max_image):
    import os, sys, types

    ip = get_ipython()
    LIMIT, TAIL = 2_000_000, 15_000  # characters of a cell, and of its end where it has more

    class Stream:
        def __init__(self, stream):
            self.write_, self.count, self.tail = stream.write, 0, ''
            stream.write = self.write

        def write(self, text):
            room = LIMIT - self.count
            self.count += len(text)
            if len(text) <= room:
                return self.write_(text)
            if room > 0:
                self.write_(text[:room])
                text = text[room:]
            self.tail = (self.tail + text[-TAIL:])[-TAIL:]
            return len(text)

        def end(self, *_):
            left = self.count - LIMIT - len(self.tail)
            tail, self.count, self.tail = self.tail, 0, ''
            if tail:
                self.write_((f'\n[… {left} characters left out here …]\n' if left > 0 else '') + tail)

    for stream in (sys.stdout, sys.stderr):
        ip.events.register('post_run_cell', Stream(stream).end)

    form = ip.display_formatter.format

    def bounded(*args, **kwargs):
        data, about = form(*args, **kwargs)
        for kind, value in list(data.items()):
            if isinstance(value, bytes) and len(value) * 4 // 3 > max_image:
                data[kind] = b''
            elif isinstance(value, str) and kind.startswith('image/') and len(value) > max_image:
                data[kind] = ''
            elif isinstance(value, str) and len(value) > LIMIT:
                data[kind] = f'{value[:TAIL]}\n[… {len(value) - 2 * TAIL} characters left out here …]\n{value[-TAIL:]}'
        return data, about

    ip.display_formatter.format = bounded

    module = types.ModuleType('deft_kernel')
    lent = {}

    def give(secrets):
        for name, value in secrets.items():
            lent[name] = (value, os.environb.get(name))
            os.environb[name] = value

    def take():
        for name, (value, before) in lent.items():
            if os.environb.get(name) != value:
                continue  # the cell has set it
            if before is None:
                del os.environb[name]
            else:
                os.environb[name] = before
        lent.clear()

    module.give, module.take = give, take
    sys.modules['deft_kernel'] = module

