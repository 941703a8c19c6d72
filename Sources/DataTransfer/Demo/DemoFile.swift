internal import CEmbeddedFiles
internal import Foundation
internal import Records

/// A file of the demo data: stored in the program, or generated if it is large.
struct DemoFile: Sendable {
    let name: String
    /// Returns the bytes, always the same. It is a closure because some files are large.
    let bytes: @Sendable () -> [UInt8]

    init(_ name: String, _ bytes: @escaping @Sendable () -> [UInt8]) {
        self.name = name
        self.bytes = bytes
    }

    /// - Parameter stored: the file with these bytes in Sources/CEmbeddedFiles/Demo; `nil` for the one with this name.
    init(stored name: String, as stored: String? = nil) {
        self.init(name) { StoredDemoFiles.bytes[stored ?? name] ?? [] }
    }
}

/// The demo files that are stored in the program, by name.
enum StoredDemoFiles {
    static let bytes: [String: [UInt8]] = {
        var files: [String: [UInt8]] = [:]
        var next = embedded_demo_files()
        while let file = next?.pointee, let name = file.name {
            files[String(cString: name)] = Array(UnsafeBufferPointer(start: file.bytes, count: Int(file.count)))
            next = next?.advanced(by: 1)
        }
        return files
    }()
}

extension DemoFile {
    static func picture(_ name: String, as stored: String? = nil) -> DemoFile {
        DemoFile(stored: "\(name).png", as: stored.map { "\($0).png" })
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

    static let settings = DemoFile(stored: "settings.json")
    static let walk = DemoFile(stored: "walk.gpx")
    static let textPreferences = DemoFile(stored: "preferences.plist")
    static let binaryPreferences = DemoFile(stored: "preferences-binary.plist")
    static let prices = DemoFile(stored: "prices.csv")
    static let leaflet = DemoFile(stored: "leaflet.pdf")
    /// An SVG image with scripts, which must not run when the server delivers it.
    static let drawingWithScript = DemoFile(stored: "drawing with a script.svg")
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
