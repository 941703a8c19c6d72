internal import Console

/// A bar chart with a highlighted part in each bar.
struct BarChart: ViewModel {
    struct Bar: ViewModel {
        let x: Int
        let y: Int
        let height: Int
        /// The bad part, at the bottom of the bar.
        let badY: Int
        let badHeight: Int
        let hasBad: Bool

        func child(named name: String) -> Any? {
            switch name {
            case "x": x
            case "y": y
            case "height": height
            case "badY": badY
            case "badHeight": badHeight
            case "hasBad": hasBad
            default: nil
            }
        }
    }

    static let step = 10
    static let height = 80

    let label: String
    let width: Int
    let bars: [Bar]
    /// The value of the highest bar.
    let top: String
    let start: String
    let end: String

    /// - Parameters:
    ///   - values: the values from left to right, each with its bad part.
    ///   - label: the accessible description of the chart.
    init(_ values: [(all: Double, bad: Double)], label: String, top: String, start: String, end: String) {
        let highest = max(values.map(\.all).max() ?? 0, .leastNonzeroMagnitude)
        func scaled(_ value: Double) -> Int {
            // A small value still gets a visible bar.
            value <= 0 ? 0 : max(2, Int((value / highest * Double(Self.height)).rounded()))
        }
        bars = values.enumerated().compactMap { index, value in
            guard value.all > 0 else { return nil }
            let (height, badHeight) = (scaled(value.all), min(scaled(value.bad), scaled(value.all)))
            return Bar(x: index * Self.step, y: Self.height - height, height: height, badY: Self.height - badHeight, badHeight: badHeight, hasBad: badHeight > 0)
        }
        width = values.count * Self.step
        self.label = label
        self.top = top
        self.start = start
        self.end = end
    }
}
