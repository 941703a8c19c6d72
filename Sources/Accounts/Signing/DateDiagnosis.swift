internal import Foundation

/// Checks the date of a signed request: its format and its distance from the server's time.
struct DateDiagnosis {
    private let date: String
    private let now: Date

    init(_ date: String, now: Date) {
        self.date = date
        self.now = now
    }

    /// `nil` if the date is correct.
    var problem: SignatureProblem? {
        let moment = now.timeIntervalSince1970
        let right = RequestSignature.date(of: Int64(moment.rounded(.down)))
        guard let signed = RequestSignature.moment(of: date) else {
            return SignatureProblem(
                .date, "The date is not of the form yyyy-MM-ddTHH:mm:ssZ: \(flaw).", expected: "such as \(right)", received: String(date.prefix(100)),
                remedy: "Write the date in UTC, to the second, as in \(right): date -u +%Y-%m-%dT%H:%M:%SZ. Use the same text in the message.")
        }
        let distance = moment - Double(signed)
        guard abs(distance) > Double(RequestSignature.window) else { return nil }
        let way = distance > 0 ? "behind" : "ahead of"
        return SignatureProblem(
            .clock, "The date is \(Self.text(abs(distance))) \(way) this server's clock; \(RequestSignature.window / 60) minutes are allowed.",
            expected: "\(right), within \(RequestSignature.window / 60) minutes", received: date, remedy: remedy(abs(distance)))
    }

    private func remedy(_ distance: Double) -> String {
        let toHalfHours = abs(distance - (distance / 1800).rounded() * 1800)
        if distance < 15 * 3600, toHalfHours < 60 {
            return "It looks like local time with a Z at the end: write the date in UTC, date -u +%Y-%m-%dT%H:%M:%SZ."
        }
        return "Create a new date and signature for each request, and check the clocks of both machines."
    }

    /// Describes the error in the format.
    private var flaw: String {
        let bytes = Array(date.utf8)
        let digits = bytes.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        if digits, bytes.count == 10 || bytes.count == 13 { return "this is a number of \(bytes.count == 10 ? "seconds" : "milliseconds") since 1970" }
        if bytes.count > 25, bytes.first.map({ $0 >= UInt8(ascii: "A") }) == true { return "this is the form of the HTTP header Date" }
        if bytes.count > 20, bytes[19] == UInt8(ascii: "."), bytes.last == UInt8(ascii: "Z") { return "it has fractions of a second" }
        if bytes.count > 19, bytes[19] == UInt8(ascii: "+") || bytes[19] == UInt8(ascii: "-") { return "it has the offset of a time zone in place of Z" }
        if bytes.count == 19 { return "the Z is missing" }
        if bytes.count == 20, bytes[10] == 0x20 { return "there is a space instead of the T" }
        if bytes.count == 16 || bytes.count == 15 { return "it is written without - and :" }
        return bytes.count == 20 ? "there is no such time, or a character is wrong" : "it has \(bytes.count) bytes, and should have 20"
    }

    /// `11 minutes`, `2 hours 5 minutes`, `3 days`.
    private static func text(_ seconds: Double) -> String {
        func count(_ number: Int, _ unit: String) -> String { "\(number) \(unit)\(number == 1 ? "" : "s")" }
        let minutes = Int((min(seconds, 1e12) / 60).rounded(.down))
        if minutes >= 2 * 1440 { return count(minutes / 1440, "day") }
        if minutes < 60 { return count(minutes, "minute") }
        let rest = minutes % 60
        return count(minutes / 60, "hour") + (rest == 0 ? "" : " \(count(rest, "minute"))")
    }
}
