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
        ("accent", .string("indigo")), ("badge", .string("naïve ☕️")), ("columns", .array([.integer(3), .integer(300), .integer(70_000)])),
        ("isCompact", .boolean(true)), ("scale", .real(1.25)), ("token", .data([0xDE, 0xAD, 0xBE, 0xEF])),
    ])

    static let textPreferences = DemoFile("preferences.plist") { preferences.xml }
    static let binaryPreferences = DemoFile("preferences-binary.plist") { preferences.binary }

    static let prices = DemoFile("prices.csv") {
        var random = DemoRandom(seed: 99)
        var text = "day,article,price,shop\n"
        for day in 1...28 {
            for article in ["Milk", "\"Bread, sourdough\"", "Äpfel", "豆腐"] {
                text += "2026-02-\(day < 10 ? "0" : "")\(day),\(article),\(random.number(in: 1...9)).\(random.number(in: 10...99)),\(random.pick(["Corner", "Market"]))\n"
            }
        }
        return Array(text.utf8)
    }

    static let leaflet = DemoFile("leaflet.pdf") { DemoPDF(title: "Chat", lines: DemoFile.leafletLines).bytes }

    private static let leafletLines = [
        "Reactions are here.", "", "Long-press a message and choose one. Whoever wrote it sees it at once,", "and on every device.", "",
        "This page was drawn by the demo itself: a PDF of one page, without a", "picture in it, of a little over a kilobyte.",
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
