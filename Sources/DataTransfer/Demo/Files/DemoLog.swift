internal import JSON

/// The log of a server for one day of synchronization.
struct DemoLog: Sendable {
    let lines: Int

    private static let levels = ["DEBUG", "INFO ", "INFO ", "INFO ", "WARN "].map { Array($0.utf8) }
    private static let zones = ChatDemo.zones.map { Array($0.string.utf8) }
    private static let devices = ChatDemo.devices.map { Array($0.utf8) }
    private static let acts = [
        "pulled %  changes in % ms", "saved % records, % of them new", "found % conflicts among % saves", "sent % bytes, % of them compressed",
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
