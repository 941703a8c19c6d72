internal import Console
internal import Foundation

/// Maps the age of a request to a point on a line, in percent: a day ago at the left end, now at the right one. The last seconds get as much room
/// as the hours before them, so one line shows the request of just now beside those of the morning.
enum AgeScale {
    /// The greatest age on the line, in milliseconds.
    static let reach: Int64 = 86_400_000
    /// The age in milliseconds from which the line gets denser.
    private static let knee = 5000.0

    /// The point of an age, from 0 to 100; `nil` for an age that is not on the line.
    static func percent(_ age: Int64) -> Double? {
        if age > reach { return nil }
        return 100 - 100 * log1p(Double(max(0, age)) / knee) / log1p(Double(reach) / knee)
    }

    static let ticks: [FeedTimeline.Tick] =
        [(reach, "start", "1 day ago"), (3_600_000, "middle", "1 h"), (600_000, "middle", "10 min"), (60_000, "middle", "1 min"), (0, "end", "now")]
        .compactMap { age, anchor, text in percent(age).map { FeedTimeline.Tick(x: "\(Digits.fixed($0, 2))%", anchor: anchor, text: text) } }
}
