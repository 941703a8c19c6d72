internal import Crypto
internal import Foundation
internal import Text

/// The message that a server-to-server key signs: `{date}:{base64 of the SHA-256 of the body}:{path with its query}`
/// (Apple: "Composing Web Service Requests", authenticate with a server-to-server key).
public enum RequestSignature {
    /// Maximum difference in seconds between a request's date and the server's time.
    public static let window = 600

    /// The message of a request.
    /// - Parameter target: path and query as in the request line.
    public static func message(date: String, body: [UInt8], target: String) -> String {
        message(date: date, bodyHash: bodyHash(body), target: target)
    }

    /// The part of the message for a body: the base64 of its SHA-256.
    public static func bodyHash(_ body: [UInt8]) -> String {
        Data(SHA256.hash(data: body)).base64EncodedString()
    }

    static func message(date: String, bodyHash: String, target: String) -> String {
        "\(date):\(bodyHash):\(target)"
    }

    /// Parses a date in the header's format, `yyyy-MM-ddTHH:mm:ssZ`, into seconds since 1970; `nil` for any other
    /// format.
    public static func moment(of date: String) -> Int64? {
        let bytes = Array(date.utf8)
        guard bytes.count == 20 else { return nil }
        var numbers: [Int64] = []
        var number: Int64 = 0
        for (byte, form) in zip(bytes, "dddd-dd-ddTdd:dd:ddZ".utf8) {
            if form == UInt8(ascii: "d") {
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
                number = number * 10 + Int64(byte - UInt8(ascii: "0"))
            } else {
                guard byte == form else { return nil }
                numbers.append(number)
                number = 0
            }
        }
        let (year, month, day) = (numbers[0], numbers[1], numbers[2])
        let (hour, minute, second) = (numbers[3], numbers[4], numbers[5])
        guard year >= 1, let days = CivilDate(year: year, month: month, day: day)?.daysSince1970, hour < 24, minute < 60, second < 60 else { return nil }
        return days * 86_400 + hour * 3600 + minute * 60 + second
    }

    /// Formats a time for the header.
    /// - Parameter moment: seconds since 1970.
    public static func date(of moment: Int64) -> String {
        UTCTime(seconds: moment).isoText
    }
}
