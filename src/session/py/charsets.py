"""Which encoding bytes are in that are not UTF-8 and have no mark: what each candidate makes of them is
looked at as text of the scripts that it was made for. A judgement, and told as one."""

import re
from codecs import getincrementaldecoder

SAMPLE, BEFORE = 1 << 16, 64
ENOUGH = 2000  # letters to judge by: each candidate looks at them one by one, and a folder may have a thousand files
WORTH_IT = 0.1  # of a score: below, it is nobody's text

# Those that make up about half of what is written in either form.
HAN = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道"
    "行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无"
    "力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等"
    "产或新己制身果加西月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口"
    "认条平系气题活更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直资命山金指许统区保至"
)
HAN_TRADITIONAL = HAN + (
    "這個們來為國說時會對過發後裡種經麼學現當沒動還進樣開從實軍無與長機關點業將兩間問並應戰頭體見產話給門兒東"
    "聲員論處義幾認條氣題變總電數報結務場計資許統區"
)
HAN_JAPANESE = "日一国人年大十二本中長出三時行見月分後前生五間上東四今金九入学高円子外八六下来気小七山話女北午百書先名川千水半男西電校語土木聞食車何南万毎白天母火右読友左休父雨的用者事会合全部作数内同自発場員手社定法性通力対文表体現新方理化回業実"


def in_ranges(*ranges):
    return frozenset(chr(code) for low, high in ranges for code in range(low, high + 1))


WIDE_MARKS = frozenset("、。，．・：；？！「」『』（）【】《》〈〉“”‘’…—－～　ー々０１２３４５６７８９％")
KANA = in_ranges((0x3041, 0x3096), (0x30A1, 0x30FA))
HANGUL = frozenset(bytes((row, cell)).decode("euc_kr") for row in range(0xB0, 0xC9) for cell in range(0xA1, 0xFF))
IDEOGRAPHS = in_ranges((0x4E00, 0x9FA5))
MARKS = frozenset("§©®°±«»·–—‘’“”„…€£№•µ²³½¼¿¡ºª\u00a0\u00ad")


class Wide:
    """Of two bytes a character: what is usual in it, and what is possible."""

    def __init__(self, usual, possible=frozenset(), of_possible=0.2, expected=0.6):
        self.usual, self.possible, self.of_possible = usual | WIDE_MARKS, possible, of_possible
        self.expected = expected

    def score(self, text):
        total = count = 0
        for char in text:
            if char >= "\x80":
                count += 1
                total += 1 if char in self.usual else self.of_possible if char in self.possible else -0.6
                if count == ENOUGH:
                    break
        return total / (count or 1) / self.expected


class Letters:
    """An alphabet of its own: words of it have no ASCII letters in them, and capitals only in front."""

    def __init__(self, usual, others, rare=""):
        self.usual, self.others, self.rare = frozenset(usual), frozenset(others), frozenset(rare)

    def weight(self, char, before):
        if char in MARKS:
            return 0.3
        low = char.lower()
        known = low in self.usual or low in self.others or low in self.rare
        if not known or before < "\x80" and before.isalpha() or char != low and before.islower():
            return -1
        weight = 1 if low in self.usual else 0.3 if low in self.others else -0.3
        return weight if char == low else weight * 0.6

    def score(self, text):
        total, count, before = 0, 0, " "
        for char in text:
            if char >= "\x80":
                count += 1
                total += self.weight(char, before)
                if count == ENOUGH:
                    break
            elif before >= "\x80" and char.isalpha() and before.isalpha():
                total -= 1
            before = char
        return total / (count + 1) / 0.8  # the one: a single letter is hardly a word


def is_ascii(letter):
    return letter < "\x80" and letter.isalpha()


class Accents:
    """The Latin alphabet, with letters of some languages between those of ASCII."""

    def __init__(self, usual, others):
        self.usual, self.others = frozenset(usual + usual.upper()), frozenset(others + others.upper())

    def weight(self, char, before, after):
        if char in MARKS:
            return 1
        if char not in self.usual and char not in self.others:
            return -0.6
        strange = char.isupper() and before.islower()
        alone = not (before.isalpha() or after.isalpha())
        foreign = (before >= "\x80" or after >= "\x80") and not (is_ascii(before) or is_ascii(after))
        if strange or foreign:
            return -0.8
        return (1 if char in self.usual else 0.4) - 0.4 * alone

    def score(self, text):
        total = count = 0
        for at, char in enumerate(text):
            if char >= "\x80":
                count += 1
                total += self.weight(char, text[at - 1] if at else " ", text[at + 1:at + 2] or " ")
                if count == ENOUGH:
                    break
        return total / (count or 1)


JAPANESE = Wide(KANA | frozenset(HAN_JAPANESE), IDEOGRAPHS)
CYRILLIC = Letters("оеаинтсрвлкмдпуяыьі", "згбчйхжшюёїє", "цщэфъґў")

# In the order of how often they are met: the first of equals is taken.
CANDIDATES = (
    ("cp1252", Accents("éèàùìòçîôëïâäöüßñáíóúãåøæý", "êûõœšžÿþð")),
    ("gb18030", Wide(frozenset(HAN), IDEOGRAPHS)),
    ("cp932", JAPANESE),
    ("euc_jp", JAPANESE),
    ("cp949", Wide(HANGUL, expected=0.9)),
    ("cp950", Wide(frozenset(HAN_TRADITIONAL), IDEOGRAPHS)),
    ("cp1251", CYRILLIC),
    ("koi8_u", CYRILLIC),
    ("cp866", CYRILLIC),
    ("cp1250", Accents("áčďéěíňóřšťúůýžąćęłńśźżőűäöüß", "ôîăâţşľĺŕđëç")),
    ("cp1254", Accents("çğıöşüâî", "éû")),
    ("cp1253", Letters("αοιετσνηυρπκλςμωάίό", "βγδθφχέήύώ", "ζξψϊϋΐΰ")),
    ("cp1255", Letters("יוהלאמרתשבםנפקןע", "גדזחטכךסףצץ")),
    ("cp1256", Letters("اليمنوتربةعدسف", "أإآءؤئىجحخذزشصضطظغقكهپچژگ")),
    ("cp874", Letters("านรอกเงมยลวดทสต่้ัีิ", in_ranges((0xE01, 0xE3A), (0xE3F, 0xE5B)))),
)


def sample_of(data):
    """From the first byte on that is not ASCII: where no character is cut."""
    first = re.search(rb"[\x80-\xff]", data)
    begin = max(first.start() - BEFORE, 0) if first else 0
    return bytes(data[begin:begin + SAMPLE])


def decoded(sample, name):
    """None where it is not in that encoding. Its end may be cut."""
    try:
        return getincrementaldecoder(name)("strict").decode(sample, len(sample) < SAMPLE)
    except UnicodeDecodeError:
        return None


def mostly_utf8(sample):
    """UTF-8 with some bytes in it that are none: a log, or what was cut and put together."""
    text = sample.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    return sum(char >= "\x80" for char in text) - bad >= 4 * bad


def guess(data):
    """The name of an encoding, or None when it looks like none of those that are known here."""
    sample = sample_of(data)
    if mostly_utf8(sample):
        return "utf-8"
    best, found = WORTH_IT, None
    for name, script in CANDIDATES:
        text = decoded(sample, name)
        score = -1 if text is None else script.score(text)
        if score > best + 1e-9:
            best, found = score, name
    return found
