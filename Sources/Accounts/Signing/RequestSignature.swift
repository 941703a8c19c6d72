internal import Crypto
internal import Foundation

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
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let lengths: [Int64] = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        guard year >= 1, (1...12).contains(month), (1...lengths[Int(month) - 1]).contains(day), hour < 24, minute < 60, second < 60 else { return nil }
        // Days since 1 March of year 0, so that a leap day is the last day of its year.
        let (shifted, months) = (month > 2 ? year : year - 1, month > 2 ? month - 3 : month + 9)
        let days = shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + (153 * months + 2) / 5 + day - 1
        return (days - 719_468) * 86_400 + hour * 3600 + minute * 60 + second
    }

    /// Formats a time for the header.
    /// - Parameter moment: seconds since 1970.
    public static func date(of moment: Int64) -> String {
        Date(timeIntervalSince1970: Double(moment)).formatted(Date.ISO8601FormatStyle())
    }

    static func isRight(_ signature: P256.Signing.ECDSASignature, of message: String, by key: P256.Signing.PublicKey) -> Bool {
        key.isValidSignature(signature, for: Array(message.utf8))
    }
}
