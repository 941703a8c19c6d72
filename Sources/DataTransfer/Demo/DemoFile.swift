internal import Foundation
internal import Records

/// A deterministic, generated demo file.
struct DemoFile: Sendable {
    let name: String
    /// Generates the bytes. It is a closure because some files are large.
    let bytes: @Sendable () -> [UInt8]

    init(_ name: String, _ bytes: @escaping @Sendable () -> [UInt8]) {
        self.name = name
        self.bytes = bytes
    }

    init(_ name: String, text: String) {
        self.init(name) { Array(text.utf8) }
    }
}

extension DemoFile {
    static func landscape(_ name: String, seed: UInt64) -> DemoFile {
        DemoFile("\(name).png") { DemoLandscape(seed: seed).picture.png }
    }

    static func portrait(_ name: String) -> DemoFile {
        DemoFile("\(name).png") { DemoPortrait(of: name).picture.png }
    }

    static func pattern(_ name: String, seed: UInt64) -> DemoFile {
        DemoFile("\(name).png") { DemoPattern(seed: seed).picture.png }
    }

    static let melody = DemoFile("Ode to Joy.wav") { DemoMelody.odeToJoy.wav }

    /// A log that compresses well.
    static let syncLog = DemoFile("sync-2026-10-30.log") { DemoLog(lines: 76_000).bytes }

    /// Incompressible bytes, like an encrypted archive.
    static let backup = DemoFile("backup-2026-10.bin") {
        var random = DemoRandom(seed: 12)
        let words = (12 << 20) / 8
        return [UInt8](unsafeUninitializedCapacity: words * 8) { buffer, count in
            let raw = UnsafeMutableRawBufferPointer(buffer)
            var index = 0
            while index < words {
                raw.storeBytes(of: random.next().littleEndian, toByteOffset: index * 8, as: UInt64.self)
                index += 1
            }
            count = words * 8
        }
    }

    static let settings = DemoFile(
        "settings.json",
        text: """
            {
              "theme": "dark",
              "fontSize": 13.5,
              "notifications": { "mentions": true, "reactions": false, "quietHours": ["22:00", "07:30"] },
              "rooms": ["General", "Sync", "Lunch 🍜", "Family", "Books"],
              "largest": 9223372036854775807
            }

            """)

    static let walk = DemoFile(
        "walk.gpx",
        text: """
            <?xml version="1.0" encoding="UTF-8"?>
            <gpx version="1.1" creator="Skylight demo" xmlns="http://www.topografix.com/GPX/1/1">
              <trk>
                <name>Along the canal</name>
                <trkseg>
                  <trkpt lat="51.5362" lon="-0.1033"><ele>24.1</ele><time>2026-10-25T09:12:00Z</time></trkpt>
                  <trkpt lat="51.5371" lon="-0.0988"><ele>23.8</ele><time>2026-10-25T09:18:00Z</time></trkpt>
                  <trkpt lat="51.5358" lon="-0.0902"><ele>22.9</ele><time>2026-10-25T09:31:00Z</time></trkpt>
                  <trkpt lat="51.5345" lon="-0.0791"><ele>21.7</ele><time>2026-10-25T09:47:00Z</time></trkpt>
                </trkseg>
              </trk>
            </gpx>

            """)

    private static let preferences = DemoPropertyList.dictionary([
        ("accent", .string("indigo")), ("badge", .string("naïve ☕️")),
        ("columns", .array([.integer(3), .integer(300), .integer(70_000)])),
        ("isCompact", .boolean(true)), ("scale", .real(1.25)), ("token", .data([0xDE, 0xAD, 0xBE, 0xEF])),
    ])

    static let textPreferences = DemoFile("preferences.plist") { preferences.xml }
    static let binaryPreferences = DemoFile("preferences-binary.plist") { preferences.binary }

    static let prices = DemoFile("prices.csv") {
        var random = DemoRandom(seed: 99)
        var text = "day,article,price,shop\n"
        for day in 1...28 {
            for article in ["Milk", "\"Bread, sourdough\"", "Äpfel", "豆腐"] {
                text +=
                    "2026-02-\(day < 10 ? "0" : "")\(day),\(article),\(random.number(in: 1...9)).\(random.number(in: 10...99)),\(random.pick(["Corner", "Market"]))\n"
            }
        }
        return Array(text.utf8)
    }

    static let leaflet = DemoFile("leaflet.pdf") { DemoPDF(title: "Chat", lines: DemoFile.leafletLines).bytes }

    private static let leafletLines = [
        "Reactions are here.", "", "Long-press a message and choose one. Whoever wrote it sees it at once,",
        "and on every device.", "",
        "This page was drawn by the demo itself: a PDF of one page, without a",
        "picture in it, of a little over a kilobyte.",
    ]

    /// An SVG image with scripts, which must not run when the server delivers it.
    static let drawingWithScript = DemoFile(
        "drawing with a script.svg",
        text: """
            <?xml version="1.0" encoding="UTF-8"?>
            <svg xmlns="http://www.w3.org/2000/svg" width="320" height="180" viewBox="0 0 320 180" onload="document.title = 'The script ran'">
              <script>
                document.documentElement.setAttribute("data-script-ran", "yes");
                fetch("/database/1/iCloud.com.example.Journal/development/private/zones/list").then(() => alert("The script ran"));
              </script>
              <rect width="320" height="180" fill="#fdf6e3"/>
              <circle cx="160" cy="78" r="46" fill="#859900"/>
              <path d="M138 78 l16 18 l30 -36" fill="none" stroke="#fdf6e3" stroke-width="9" stroke-linecap="round"/>
              <text x="160" y="156" text-anchor="middle" font-family="sans-serif" font-size="15" fill="#586e75">The script in this file did nothing.</text>
            </svg>

            """)
}

// MARK: - Melodies

/// A sequence of tones.
struct DemoMelody: Sendable {
    private static let rate = 16_000

    /// The pitch in semitones above middle C, and the duration in beats.
    let tones: [(pitch: Int, beats: Double)]
    let beatsPerMinute: Double

    /// Ludwig van Beethoven, Symphony No. 9 (1824).
    static let odeToJoy = DemoMelody(
        tones: [
            (4, 1), (4, 1), (5, 1), (7, 1), (7, 1), (5, 1), (4, 1), (2, 1), (0, 1), (0, 1), (2, 1), (4, 1), (4, 1.5),
            (2, 0.5), (2, 2),
            (4, 1), (4, 1), (5, 1), (7, 1), (7, 1), (5, 1), (4, 1), (2, 1), (0, 1), (0, 1), (2, 1), (4, 1), (2, 1.5),
            (0, 0.5), (0, 2),
        ], beatsPerMinute: 132)

    /// The melody in WAVE format: one channel, 16 bits per sample.
    var wav: [UInt8] {
        var samples: [UInt8] = []
        for tone in tones {
            let count = Int(Double(Self.rate) * tone.beats * 60 / beatsPerMinute)
            let step = 2 * .pi * 261.626 * pow(2, Double(tone.pitch) / 12) / Double(Self.rate)
            samples.reserveCapacity(samples.count + count * 2)
            var fading = 1.0
            for index in 0..<count {
                // A short attack, then an exponential decay like a plucked string, with the octave as an overtone.
                let attack = min(1, Double(index) / 160)
                let angle = step * Double(index)
                let value = Int16((sin(angle) + 0.35 * sin(2 * angle)) * attack * fading * 16_000)
                samples.append(UInt8(truncatingIfNeeded: value))
                samples.append(UInt8(truncatingIfNeeded: value >> 8))
                fading *= 0.99976
            }
        }
        let format =
            Self.bytes(16, 4) + Self.bytes(1, 2) + Self.bytes(1, 2) + Self.bytes(Self.rate, 4)
            + Self.bytes(Self.rate * 2, 4) + Self.bytes(2, 2)
        return Array("RIFF".utf8) + Self.bytes(36 + samples.count, 4) + Array("WAVEfmt ".utf8) + format
            + Self.bytes(16, 2)
            + Array("data".utf8) + Self.bytes(samples.count, 4) + samples
    }

    private static func bytes(_ integer: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: integer >> (8 * $0)) }
    }
}

// MARK: - PDF

/// A one-page PDF document (ISO 32000) with a title and some lines of text.
struct DemoPDF: Sendable {
    let title: String
    /// Only characters that ASCII and PDF's built-in fonts share.
    let lines: [String]

    var bytes: [UInt8] {
        var content =
            "0.22 0.35 0.62 rg 0 742 595 100 re f\nBT /F1 34 Tf 1 1 1 rg 56 776 Td (\(title)) Tj ET\nBT /F2 13 Tf 0 0 0 rg 56 690 Td 19 TL\n"
        for line in lines { content += "(\(line)) Tj T*\n" }
        content += "ET\n"
        let objects = [
            "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R /F2 6 0 R >> >> >>",
            "<< /Length \(content.utf8.count) >>\nstream\n\(content)endstream",
            "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold >>",
            "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        ]
        var text = "%PDF-1.4\n"
        var entries = "0000000000 65535 f \n"
        for (index, object) in objects.enumerated() {
            entries += String(text.utf8.count, digits: 10) + " 00000 n \n"
            text += "\(index + 1) 0 obj\n\(object)\nendobj\n"
        }
        let start = text.utf8.count
        text +=
            "xref\n0 \(objects.count + 1)\n\(entries)trailer\n<< /Size \(objects.count + 1) /Root 1 0 R >>\nstartxref\n\(start)\n%%EOF\n"
        return Array(text.utf8)
    }
}

// MARK: - Logs

/// The log of a server for one day of synchronization.
struct DemoLog: Sendable {
    let lines: Int

    private static let levels = ["DEBUG", "INFO ", "INFO ", "INFO ", "WARN "].map { Array($0.utf8) }
    private static let zones = ChatDemo.zones.map { Array($0.string.utf8) }
    private static let devices = ChatDemo.devices.map { Array($0.utf8) }
    private static let acts = [
        "pulled %  changes in % ms", "saved % records, % of them new", "found % conflicts among % saves",
        "sent % bytes, % of them compressed",
        "kept the connection for % s after % requests",
    ].map { $0.split(separator: "%", omittingEmptySubsequences: false).map { Array($0.utf8) } }

    var bytes: [UInt8] {
        var random = DemoRandom(seed: 8)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(lines * 128)
        // The time of day, in milliseconds.
        var moment = 0
        for _ in 0..<lines {
            moment += random.number(in: 100...2000)
            bytes += Array("2026-10-30T".utf8)
            Self.append(moment / 3_600_000 % 24, digits: 2, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            Self.append(moment / 60_000 % 60, digits: 2, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            Self.append(moment / 1000 % 60, digits: 2, to: &bytes)
            bytes.append(UInt8(ascii: "."))
            Self.append(moment % 1000, digits: 3, to: &bytes)
            bytes += Self.zulu
            bytes += random.pick(Self.levels)
            bytes += Self.device
            bytes += random.pick(Self.devices)
            bytes += Self.zone
            bytes += random.pick(Self.zones)
            bytes += Self.colon
            let act = random.pick(Self.acts)
            bytes += act[0]
            Self.append(random.number(below: 5000), digits: 1, to: &bytes)
            bytes += act[1]
            Self.append(random.number(below: 900), digits: 1, to: &bytes)
            bytes += act[2]
            bytes += Self.token
            Self.append(random.number(below: 1_000_000), digits: 8, to: &bytes)
            bytes.append(UInt8(ascii: "\n"))
        }
        return bytes
    }

    private static let zulu = Array("Z ".utf8)
    private static let device = Array(" sync[4312] device=".utf8)
    private static let zone = Array(" zone=\"".utf8)
    private static let colon = Array("\": ".utf8)
    private static let token = Array("; token EQEAAAAB".utf8)

    /// Appends a number with leading zeros.
    private static func append(_ number: Int, digits: Int, to bytes: inout [UInt8]) {
        var (power, count) = (10, 1)
        while count < digits || power <= number { (power, count) = (power * 10, count + 1) }
        while count > 0 {
            power /= 10
            count -= 1
            bytes.append(UInt8(ascii: "0") + UInt8(number / power % 10))
        }
    }
}

// MARK: - Property lists

/// A property list with ordered dictionaries, so that its bytes are deterministic. Foundation does not guarantee this.
indirect enum DemoPropertyList: Sendable {
    case string(String)
    case integer(Int64)
    case real(Double)
    case boolean(Bool)
    case data([UInt8])
    case array([DemoPropertyList])
    case dictionary([(key: String, value: DemoPropertyList)])

    /// Apple's XML format. The strings contain nothing that needs escaping.
    var xml: [UInt8] {
        Array(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0">
            \(element(indented: ""))
            </plist>

            """.utf8)
    }

    private func element(indented indent: String) -> String {
        let inner = indent + "\t"
        switch self {
        case .string(let string): return "\(indent)<string>\(string)</string>"
        case .integer(let integer): return "\(indent)<integer>\(integer)</integer>"
        case .real(let real): return "\(indent)<real>\(real)</real>"
        case .boolean(let boolean): return "\(indent)<\(boolean)/>"
        case .data(let bytes): return "\(indent)<data>\(Data(bytes).base64EncodedString())</data>"
        case .array(let values):
            return (["\(indent)<array>"] + values.map { $0.element(indented: inner) } + ["\(indent)</array>"]).joined(
                separator: "\n")
        case .dictionary(let members):
            let lines = members.flatMap { ["\(inner)<key>\($0.key)</key>", $0.value.element(indented: inner)] }
            return (["\(indent)<dict>"] + lines + ["\(indent)</dict>"]).joined(separator: "\n")
        }
    }

    /// Apple's binary format, as described in CFBinaryPList.c of Core Foundation.
    var binary: [UInt8] {
        var objects: [[UInt8]] = []
        _ = add(to: &objects)
        var bytes = Array("bplist00".utf8)
        var offsets: [Int] = []
        for object in objects {
            offsets.append(bytes.count)
            bytes += object
        }
        let table = bytes.count
        for offset in offsets { bytes += Self.bigEndian(offset, 2) }
        bytes += [0, 0, 0, 0, 0, 0, 2, 1]
        return bytes + Self.bigEndian(objects.count, 8) + Self.bigEndian(0, 8) + Self.bigEndian(table, 8)
    }

    /// Appends this value and its children.
    /// - Returns: the index of the value, which fits into one byte, because the demo's lists are small.
    private func add(to objects: inout [[UInt8]]) -> UInt8 {
        let number = objects.count
        objects.append([])
        switch self {
        case .string(let string):
            let isASCII = string.utf8.allSatisfy { $0 < 128 }
            let units = Array(string.utf16)
            objects[number] =
                Self.marker(isASCII ? 0x50 : 0x60, units.count)
                + (isASCII ? Array(string.utf8) : units.flatMap { Self.bigEndian(Int($0), 2) })
        case .integer(let integer): objects[number] = [0x13] + Self.bigEndian(Int(integer), 8)
        case .real(let real): objects[number] = [0x23] + Self.bigEndian(Int(bitPattern: UInt(real.bitPattern)), 8)
        case .boolean(let boolean): objects[number] = [boolean ? 0x09 : 0x08]
        case .data(let bytes): objects[number] = Self.marker(0x40, bytes.count) + bytes
        case .array(let values): objects[number] = Self.marker(0xA0, values.count) + values.map { $0.add(to: &objects) }
        case .dictionary(let members):
            let keys = members.map { Self.string($0.key).add(to: &objects) }
            objects[number] = Self.marker(0xD0, members.count) + keys + members.map { $0.value.add(to: &objects) }
        }
        return UInt8(truncatingIfNeeded: number)
    }

    private static func marker(_ type: UInt8, _ count: Int) -> [UInt8] {
        count < 15 ? [type | UInt8(count)] : [type | 15, 0x11] + bigEndian(count, 2)
    }

    private static func bigEndian(_ integer: Int, _ count: Int) -> [UInt8] {
        stride(from: (count - 1) * 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: integer >> $0) }
    }
}
