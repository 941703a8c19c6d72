@testable import skylight
import Testing

/// Sizes as users write them.
@Suite struct OptionTests {
    @Test(
        arguments: [
            ("0", nil), ("1", 1), ("512", 512), ("1KB", 1024), ("50MB", 50 << 20), ("50 mb", 50 << 20),
            ("2GB", 2 << 30), ("3g", 3 << 30), ("1TiB", 1 << 40),
            ("7b", 7), ("", nil), ("MB", nil), ("-1", nil), ("1.5GB", nil), ("1XB", nil), ("9223372036854775807", .max),
            ("8388608TB", nil), ("٣MB", nil),
        ] as [(String, Int64?)])
    func bytes(text: String, bytes: Int64?) {
        #expect(ByteCount(argument: text)?.bytes == bytes)
    }

    @Test(
        arguments: [
            (0, "0 bytes"), (1, "1 byte"), (1023, "1023 bytes"), (1024, "1 KB"), (1536, "1.5 KB"), (50 << 20, "50 MB"),
            (1_048_575, "1 MB"), (2 << 40, "2 TB"),
            (5000 << 40, "5,000 TB"),
        ] as [(Int64, String)])
    func bytesInWords(bytes: Int64, words: String) {
        #expect(ByteCount(bytes).description == words)
    }

    @Test(
        arguments: [
            ("24", 86_400), ("0", 0), ("30s", 30), ("90m", 5400), ("36h", 129_600), ("7d", 604_800), ("", nil),
            ("-1", nil), ("1w", nil), ("36526d", nil),
        ] as [(String, Int64?)])
    func graceTimes(text: String, seconds: Int64?) {
        #expect(GracePeriod(argument: text)?.seconds == seconds)
    }

    @Test(
        arguments: [
            (0, "0 seconds"), (60, "1 minute"), (5400, "90 minutes"), (86_400, "24 hours"), (259_200, "3 days"),
            (90_000, "25 hours"),
        ] as [(Int64, String)])
    func graceTimesInWords(seconds: Int64, words: String) {
        #expect(GracePeriod(.seconds(seconds)).description == words)
    }
}
