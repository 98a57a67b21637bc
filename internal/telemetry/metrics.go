package telemetry

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are the seven figures that tell whether a system is well:
//
//	phonebooth_queue_depth              tasks that wait
//	phonebooth_oldest_queued_seconds    how long the oldest of them has waited
//	phonebooth_renewal_margin_seconds   what was left of a lease when it was renewed
//	phonebooth_lost_leases_total        leases that ended without a report, by reason
//	phonebooth_index_differences_total  rows in which the scheduler's index was wrong
//	phonebooth_commit_verbs             verbs that one commit carried
//	phonebooth_unannounced_events_total events of other replicas that were found by looking
type Metrics struct {
	registry *prometheus.Registry
	queue    queueCollector

	renewalMargin    prometheus.Histogram
	lostLeases       *prometheus.CounterVec
	indexDifferences prometheus.Counter
	commitVerbs      prometheus.Histogram
	unannounced      prometheus.Counter
}

// NewMetrics returns figures that are all zero, in a registry of their own.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		queue: queueCollector{
			depth:  prometheus.NewDesc("phonebooth_queue_depth", "Tasks that wait for a device.", nil, nil),
			oldest: prometheus.NewDesc("phonebooth_oldest_queued_seconds", "How long the oldest queued task has waited; 0 for an empty queue.", nil, nil),
		},
		renewalMargin: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "phonebooth_renewal_margin_seconds",
			Help:    "What was left of a lease when its renewal arrived. Small ones announce lost leases.",
			Buckets: []float64{0.5, 1, 2, 4, 8, 12, 16, 20, 24, 30},
		}),
		lostLeases: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "phonebooth_lost_leases_total",
			Help: "Leases that ended without a report from their host, by reason.",
		}, []string{"reason"}),
		indexDifferences: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "phonebooth_index_differences_total",
			Help: "Rows in which the scheduler's index differed from the store. Any is a bug.",
		}),
		commitVerbs: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "phonebooth_commit_verbs",
			Help:    "Changes of state that one commit carried; 256 is the most.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128, 256},
		}),
		unannounced: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "phonebooth_unannounced_events_total",
			Help: "Events of other replicas that were found by looking, because their announcement was not heard.",
		}),
	}
	m.registry.MustRegister(&m.queue, m.renewalMargin, m.lostLeases, m.indexDifferences, m.commitVerbs, m.unannounced)
	return m
}

// WatchQueue makes f the source of the first two figures: how many tasks wait, and how
// long the oldest has. It is called at every scrape, by any goroutine, and must not
// wait for a database. A later call takes its place; before the first the two figures
// are absent.
func (m *Metrics) WatchQueue(f func() (depth int, oldest time.Duration)) { m.queue.source.Store(&f) }

// LeaseRenewed notes that margin of a lease was left when it was renewed.
func (m *Metrics) LeaseRenewed(margin time.Duration) { m.renewalMargin.Observe(margin.Seconds()) }

// LeaseLost notes a lease that ended without a report. Reason is one of a few fixed
// words: each becomes a time series for good.
func (m *Metrics) LeaseLost(reason string) { m.lostLeases.WithLabelValues(reason).Inc() }

// IndexDiffered notes n rows in which the index was wrong and has been repaired.
func (m *Metrics) IndexDiffered(n int) { m.indexDifferences.Add(float64(n)) }

// Committed notes a commit that carried so many verbs.
func (m *Metrics) Committed(verbs int) { m.commitVerbs.Observe(float64(verbs)) }

// FoundUnannounced notes n events of other replicas that nobody had announced.
func (m *Metrics) FoundUnannounced(n int) { m.unannounced.Add(float64(n)) }

// Handler answers a scrape.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// queueCollector asks at scrape time: a waiting task ages while nothing happens.
type queueCollector struct {
	depth, oldest *prometheus.Desc
	source        atomic.Pointer[func() (int, time.Duration)]
}

func (q *queueCollector) Describe(to chan<- *prometheus.Desc) {
	to <- q.depth
	to <- q.oldest
}

func (q *queueCollector) Collect(to chan<- prometheus.Metric) {
	source := q.source.Load()
	if source == nil {
		return
	}
	depth, oldest := (*source)()
	to <- prometheus.MustNewConstMetric(q.depth, prometheus.GaugeValue, float64(depth))
	to <- prometheus.MustNewConstMetric(q.oldest, prometheus.GaugeValue, oldest.Seconds())
}
