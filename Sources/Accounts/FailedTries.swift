/// Counts wrong passwords, so that nobody can try many: after a few each further one from the same place costs a longer wait, and all places
/// together have a limit, too.
///
/// Places that never sent a wrong one have a limit of their own, and those that sent the right one lately none beside their own tries: whoever
/// guesses from many places is not to keep out who knows. Moments are seconds since 1970.
struct FailedTries {
    /// Wrong passwords of a place that cost nothing yet.
    static let free = 5
    /// Longest wait, in seconds.
    static let longestWait = 300.0
    /// Seconds after which a place that was quiet is forgotten.
    private static let memory = 900.0
    /// Most places that are remembered; the one that was quiet for longest goes first.
    static let placeLimit = 1024
    /// Wrong passwords of all places together in ``allWindow`` seconds: of those that sent wrong ones before, and as many of the others.
    static let allLimit = 60
    private static let allWindow = 60.0
    /// Most places that are known to have sent the right one, and for how many seconds.
    private static let (rightLimit, rightMemory) = (256, 86_400.0)

    private struct Place {
        var count: Int
        var last: Double
    }

    private var places: [String: Place] = [:]
    /// When the last right password came from where.
    private var right: [String: Double] = [:]
    private var repeated: [Double] = []
    private var first: [Double] = []

    /// Whole seconds until a password from a place is looked at; `nil` when it is now.
    func wait(of place: String, now: Double) -> Int? {
        var until = 0.0
        let tries = count(of: place, now: now)
        if tries >= Self.free, let last = places[place]?.last {
            until = last + min(Self.longestWait, Double(1 << min(tries - Self.free, 16)))
        }
        let others = tries > 0 ? repeated : first
        let isKnown = right[place].map { now - $0 < Self.rightMemory } ?? false
        if !isKnown, others.count >= Self.allLimit, let earliest = others.first { until = max(until, earliest + Self.allWindow) }
        return until > now ? Int((until - now).rounded(.up)) : nil
    }

    mutating func failed(_ place: String, now: Double) {
        let before = count(of: place, now: now)
        places[place] = Place(count: before + 1, last: now)
        if places.count > Self.placeLimit, let oldest = places.min(by: { $0.value.last < $1.value.last }) { places[oldest.key] = nil }
        if before > 0 { Self.add(now, to: &repeated) } else { Self.add(now, to: &first) }
    }

    /// Takes back what was counted before a password was looked at that was right.
    mutating func succeeded(_ place: String, now: Double) {
        if count(of: place, now: now) > 1 { Self.remove(now, from: &repeated) } else { Self.remove(now, from: &first) }
        places[place] = nil
        right[place] = now
        if right.count > Self.rightLimit, let oldest = right.min(by: { $0.value < $1.value }) { right[oldest.key] = nil }
    }

    private func count(of place: String, now: Double) -> Int {
        places[place].flatMap { now - $0.last < Self.memory ? $0.count : nil } ?? 0
    }

    private static func add(_ moment: Double, to moments: inout [Double]) {
        moments = moments.filter { moment - $0 < allWindow } + [moment]
        if moments.count > allLimit { moments.removeFirst(moments.count - allLimit) }
    }

    private static func remove(_ moment: Double, from moments: inout [Double]) {
        if let index = moments.lastIndex(of: moment) { moments.remove(at: index) }
    }
}
