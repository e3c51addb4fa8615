from .drawings import Layout as Layout
from .drawings import place_nodes as place_nodes
from .report import HtmlReport as HtmlReport
from .report import TracePanel as TracePanel
from .report import write_report as write_report
from .traces import Trace as Trace
from .traces import trace_selection as trace_selection
