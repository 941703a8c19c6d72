internal import Foundation

/// A sequence of tones.
struct DemoMelody: Sendable {
    private static let rate = 16_000

    /// The pitch in semitones above middle C, and the duration in beats.
    let tones: [(pitch: Int, beats: Double)]
    let beatsPerMinute: Double

    /// Ludwig van Beethoven, Symphony No. 9 (1824).
    static let odeToJoy = DemoMelody(
        tones: [
            (4, 1), (4, 1), (5, 1), (7, 1), (7, 1), (5, 1), (4, 1), (2, 1), (0, 1), (0, 1), (2, 1), (4, 1), (4, 1.5), (2, 0.5), (2, 2),
            (4, 1), (4, 1), (5, 1), (7, 1), (7, 1), (5, 1), (4, 1), (2, 1), (0, 1), (0, 1), (2, 1), (4, 1), (2, 1.5), (0, 0.5), (0, 2),
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
        let format = Self.bytes(16, 4) + Self.bytes(1, 2) + Self.bytes(1, 2) + Self.bytes(Self.rate, 4) + Self.bytes(Self.rate * 2, 4) + Self.bytes(2, 2)
        return Array("RIFF".utf8) + Self.bytes(36 + samples.count, 4) + Array("WAVEfmt ".utf8) + format + Self.bytes(16, 2)
            + Array("data".utf8) + Self.bytes(samples.count, 4) + samples
    }

    private static func bytes(_ integer: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: integer >> (8 * $0)) }
    }
}
