"""What differs between two runs of one program, made the same: present times, random names, ports and durations."""

import base64
import datetime
import email.utils
import re
import time

HOUR = 3_600_000
TOKEN = re.compile(r"(?<![\w-])[EF][\w-]{47}(?:[\w-]{7})?(?![\w-])")
ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z| UTC)|\d{4}-\d\d-\d\d \d\d:\d\d(?![:\d])")
HTTP = re.compile(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT")
#: Names that the server makes up. Each gets a number in its file, so that it is seen where one is used again.
RANDOM = re.compile("|".join((
    r"(?<![0-9a-f-])[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}(?![0-9a-f-])",  # requests
    r"(?<![0-9A-F])[0-9A-F]{8}-[0-9A-F]{4}-4[0-9A-F]{3}-[89AB][0-9A-F]{3}-[0-9A-F]{12}(?![0-9A-F-])",  # records, shares, subscriptions, participants
    r"(?<![\w-])000[\w-]{23}(?![\w-])",  # links of shares
    r"(?<![0-9a-f])[0-9a-f]{16}(?=\.\d)",  # the log of requests
    r'(?<="id":")(?:[0-9a-f]{8}|[0-9a-f]{16})(?=")|(?<=session )[0-9a-f]{16}|(?<=session \')[0-9a-f]{16}',  # API tokens and sessions
    r'(?<=<code class="faint">)[0-9a-f]{8}(?=</code>)|(?<=revoke\?token=)[0-9a-f]{8}|(?<=API token )[0-9a-f]{8}|^[0-9a-f]{8}(?=  )',  # API tokens
    r'(?<="secret":")[0-9a-f]{64}|(?<="apnsToken":")[0-9a-f]{64}|(?<=aps\?tok=)[0-9a-f]{64}|^[0-9a-f]{64}$',  # secrets
    r'(?<="webAuthToken":")[^"]+|^[\w+/]{60,}=*$',  # web auth tokens
)), re.M)
#: What depends on the speed of the machine, each in its place: other numbers and durations are part of a text. A group stays.
CHANCE = re.compile("|".join((
    r'(?<=;dur=)[\d.]+|(?<="milliseconds":)[\d.]+|(?<=page in <b>)[\d.]+(?=</b> ms)|(?<=<dt>time</dt><dd>)[\d.]+(?= ms)|(?<=<td class="num">)[\d.]+(?= ms)',
    r'(?<=at most )[\d.]+(?= ms</span>| a minute</span>)|(?<=<svg x=")[\d.]+(?=%")|(?<=max-age=)\d+(?=, immutable)|(?<="bytesOut":)\d+(?=,\n"stream":true)',
    r'(_seconds_(?:sum|bucket){.*} ).*|(response_bytes_total{operation="skylight/(?:commits|notifications|changes/follow|requests.*|records/explain)"} ).*',
    # Bars of the last hour, and of durations.
    r'(<svg class="bars"[^>]*aria-label="[^:"]*).*?</svg>',
    # Which share is named depends on the order of a set.
    r"(can't be deleted: the share )'Share/\w+' needs the record '\w+/\w+' in the zone '\w+' of '\w+'",
)))
#: Lines that say how far a long answer is. How many there are is chance.
PROGRESS = re.compile(r'^{"verification":"running",[^}]*}\n', re.M)
#: A ticket or receipt for a file.
TICKET = re.compile(r'(?:(?<=load/)|(?<="receipt":"))[\w-]{40,}')


class Plain:
    """Makes texts plain. The data of the demo is from before this moment, and stays as it is."""

    def __init__(self, home):
        # Some dates have no seconds.
        self.begin = int(time.time() * 1000) - 60_000
        #: Texts that name this machine, and what stands for them.
        self.places = {str(home): "HOME"}

    def moment(self, milliseconds):
        """A time from now on, in whole hours from now: it shows for how long something is kept."""
        hours = round((milliseconds - self.begin) / HOUR)
        return f"NOW+{hours}h" if hours else "NOW"

    def is_late(self, milliseconds):
        return milliseconds >= self.begin

    def token(self, match):
        """The content of a change token without the store's random epoch and the checksum."""
        content = base64.urlsafe_b64decode(match[0] + "=" * (-len(match[0]) % 4))
        if content[1] > 2 or content[6]:
            return match[0]
        moment = int.from_bytes(content[24:30])
        shown = self.moment(moment) if self.is_late(moment) else str(moment)
        return f"TOKEN({content[:10].hex()},{int.from_bytes(content[14:19])},{int.from_bytes(content[19:24])},{shown}{content[30:-6].hex(':')})"

    def ticket(self, match):
        """The content of a ticket for a download, after the time when it expires and without its checksum. Others are random."""
        content = base64.urlsafe_b64decode(match[0] + "=" * (-len(match[0]) % 4))
        return f"TICKET({content[0]},{content[7:-16].hex() if content[0] == 3 else len(content)})"

    def dated(self, read):
        def replace(match):
            date = read(match[0])
            milliseconds = int((date if date.tzinfo else date.replace(tzinfo=datetime.UTC)).timestamp() * 1000)
            return self.moment(milliseconds) if self.is_late(milliseconds) else match[0]
        return replace

    def __call__(self, text):
        for place, name in self.places.items():
            text = text.replace(place, name)
        text = TOKEN.sub(self.token, text)
        text = re.sub(r"(?<![\w.-])\d{13}(?![\w-])", lambda match: self.moment(int(match[0])) if self.is_late(int(match[0])) else match[0], text)
        text = ISO.sub(self.dated(lambda text: datetime.datetime.fromisoformat(text.replace(" UTC", "Z"))), text)
        text = HTTP.sub(self.dated(email.utils.parsedate_to_datetime), text)
        text = re.sub(r'(<time datetime="NOW[^>]*>)[^<]*', r"\1", text)
        text = PROGRESS.sub("", text)
        text = TICKET.sub(self.ticket, text)
        text = CHANCE.sub(lambda match: "".join(filter(None, match.groups())) + "CHANCE", text)
        names = {}
        return RANDOM.sub(lambda match: names.setdefault(match[0], f"NAME-{len(names) + 1}"), text)
