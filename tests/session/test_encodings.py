"""Files of text without a word on their encoding, in the languages and encodings that they come in."""

import host
from case import SessionCase

TEXTS = {
    "French": ("Le café était fermé, alors nous sommes allés à la gare où l'on a bu un thé.", "cp1252 latin-1"),
    "German": ("Die Größe der Dateien hängt davon ab, wie viele Menschen täglich üben.", "cp1252"),
    "Spanish": ("¿Dónde está la estación? Mañana saldrá el último tren, según el señor Núñez.", "cp1252"),
    "Portuguese": ("Amanhã não há lições, porque as crianças vão à exposição.", "cp1252"),
    "Italian": ("Perché la città è più bella così? Però martedì andrò là.", "cp1252"),
    "Swedish": ("På måndag går vi över bron för att köpa färska ägg.", "cp1252"),
    "Polish": ("Proszę wysłać tę wiadomość później, ponieważ książka jest już zamówiona.", "cp1250"),
    "Czech": ("Děkuji, že jste přišli; všechno je připravené a můžeme začít.", "cp1250"),
    "Hungarian": ("Köszönöm szépen, hogy eljöttél; a következő hétfőn újra főzünk.", "cp1250"),
    "Turkish": ("Teşekkür ederim, bugün hava çok güzel ve dışarıda yürüyoruz, arkadaşım İzmir'de.", "cp1254"),
    "Russian": ("Сегодня мы прочитали файл и записали результаты в таблицу.", "cp1251 koi8-r cp866"),
    "Ukrainian": ("Сьогодні ми прочитали файл і записали його вміст до таблиці.", "cp1251 koi8-u"),
    "Greek": ("Σήμερα διαβάσαμε το αρχείο και γράψαμε τα αποτελέσματα.", "cp1253"),
    "Hebrew": ("היום קראנו את הקובץ וכתבנו את התוצאות בטבלה.", "cp1255"),
    "Arabic": ("اليوم قرأنا الملف وكتبنا النتائج في الجدول.", "cp1256"),
    "Thai": ("วันนี้เราอ่านไฟล์และเขียนผลลัพธ์ลงในตาราง", "cp874"),
    "Japanese": ("今日はファイルを読み込んで、結果を表に書きました。", "shift_jis euc_jp iso2022_jp utf-16-le"),
    "Chinese": ("今天我们读了文件，然后把结果写进了表格里。", "gb2312 gb18030"),
    "traditional Chinese": ("今天我們讀了檔案，然後把結果寫進了表格裡。", "big5"),
    "Korean": ("오늘 우리는 파일을 읽고 결과를 표에 적었습니다.", "euc_kr utf-16-le"),
}
NEEDS_A_ZERO = "name,n\n"  # UTF-16 without a mark is told by where the zeros are


class Encodings(SessionCase):
    def load(self, data, **more):
        answer = self.session.load("v", "a.txt", data, **more)
        self.assertEqual(answer.kind, host.RESULT, answer)
        self.assertEqual(answer.json["status"], "ok", answer)
        return answer.json

    def value(self):
        return self.session.get("v")["value"]

    def test_each_is_read_as_what_it_is(self):
        for language, (text, encodings) in TEXTS.items():
            for encoding in encodings.split():
                with self.subTest(language=language, encoding=encoding):
                    whole = NEEDS_A_ZERO + text + "\n"
                    facts = self.load(whole.encode(encoding))
                    self.assertEqual(self.value(), whole, facts)

    def test_a_judgement_is_told_as_one(self):
        guessed = self.load(TEXTS["Russian"][0].encode("koi8-r"))
        self.assertEqual((guessed["encoding"], guessed["encoding_guessed"]), ("koi8_u", True))
        for sure in (TEXTS["Russian"][0].encode(), TEXTS["Greek"][0].encode("utf-16")):
            self.assertNotIn("encoding_guessed", self.load(sure))

    def test_the_one_that_is_asked_for_is_taken(self):
        self.load(TEXTS["Russian"][0].encode("koi8-r"), encoding="cp1251")
        self.assertNotEqual(self.value(), TEXTS["Russian"][0])
        for name, what in (("klingon", "no encoding of text is called 'klingon'"), ("hex", "no encoding"),
                           ("ascii", "not in ascii"), ("x\0", "")):
            answer = self.session.load("v", "a.txt", TEXTS["Russian"][0].encode(), encoding=name).json
            self.assertEqual((answer["status"], answer["error"]["type"]), ("error", "CannotLoad"), answer)
            self.assertIn(what, answer["error"]["message"])

    def test_a_large_file_is_judged_where_its_first_letters_are(self):
        plain = "0123456789 abcdef\n" * 100_000
        facts = self.load((plain + TEXTS["Japanese"][0]).encode("euc_jp"))
        self.assertEqual(facts["encoding"], "euc_jp")
        self.assertEqual(self.ok("v[1_800_000:]").text, repr(TEXTS["Japanese"][0]))

    def test_utf8_with_a_few_bad_bytes_is_utf8(self):
        facts = self.load(TEXTS["Korean"][0].encode() + b"\xff\xfe and on\n")
        self.assertEqual((facts["encoding"], facts["undecodable"]), ("utf-8", 2))
        self.assertEqual(self.value(), TEXTS["Korean"][0] + "\ufffd\ufffd and on\n")

    def test_utf32_without_a_mark(self):
        for encoding in ("utf-32-le", "utf-32-be"):
            facts = self.load(TEXTS["Chinese"][0].encode(encoding))
            self.assertEqual((facts["encoding"], self.value()), (encoding, TEXTS["Chinese"][0]))

    def test_what_is_no_text_at_all_is_bytes(self):
        import random
        chance = random.Random(1)
        for size in (64, 1000, 5000):
            facts = self.load(bytes([0]) + bytes(chance.randrange(256) for _ in range(size)))
            self.assertIn("not text", facts["note"])

    def test_any_bytes_become_some_text(self):
        import random
        chance = random.Random(2)
        for size in (1, 2, 3, 100, 70_000, 1_100_000):
            data = bytes(chance.randrange(1, 256) for _ in range(size))
            self.assertEqual(self.load(data)["bytes"], size)
            self.assertEqual(self.ok("type(v).__name__").text, "'str'")

    def test_a_table_is_read_in_its_encoding(self):
        self.session.load("v", "a.csv", "имя,город\nАнна,Москва\n".encode("cp1251"))
        self.assertEqual(self.value(), [{"имя": "Анна", "город": "Москва"}])

    def test_a_set_tells_of_its_encoding_when_it_is_not_utf8(self):
        answer = self.session.set_bytes("v", TEXTS["Polish"][0].encode("cp1250"), "text")
        self.assertEqual((answer.json["encoding"], self.value()), ("cp1250", TEXTS["Polish"][0]))
        self.assertNotIn("encoding", self.session.set_bytes("v", b"plain", "text").json)
